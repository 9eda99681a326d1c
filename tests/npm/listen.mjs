// What independent clients hear: `ws` on /ws and `eventsource` on /events, until N events called NAME came. Prints {ws: […], sse: […]}.
//   listen.mjs BASE QUERY KEY NAME N
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const need = createRequire(`${process.env.TAVERN_NPM}/package.json`);
const WebSocket = need('ws');
const { EventSource } = need('eventsource');
const [base, query, key, name, count] = process.argv.slice(2);
const headers = { 'x-api-key': key };
const heard = { ws: [], sse: [] };
const ends = (list, close) => (event) => {
  list.push(event);
  if (list.filter((e) => e.event === name).length === Number(count)) close();
};
const ws = new WebSocket(`${base.replace(/^http/, 'ws')}/ws${query}`, { headers });
const socket = new Promise((resolve, reject) => {
  const take = ends(heard.ws, () => { ws.close(); });
  ws.on('message', (data) => take(JSON.parse(data)));
  ws.on('close', resolve);
  ws.on('error', reject);
});
const names = readFileSync(0, 'utf8').split(/\s+/).filter(Boolean);
const source = new EventSource(`${base}/events${query}`, { fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...headers } }) });
const stream = new Promise((resolve, reject) => {
  const take = ends(heard.sse, () => { source.close(); resolve(); });
  for (const n of names) source.addEventListener(n, (e) => take({ ...JSON.parse(e.data), lastEventId: e.lastEventId }));
  source.onerror = (e) => reject(new Error(`eventsource: ${e.message}`));
});
await Promise.all([new Promise((r) => ws.once('open', r)), new Promise((r) => source.addEventListener('open', r, { once: true }))]);
console.error('listening');
await Promise.all([socket, stream]);
console.log(JSON.stringify(heard));
