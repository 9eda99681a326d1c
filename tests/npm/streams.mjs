// streams.mjs URL: event streams of turns as independent readers take them: eventsource (reconnects by itself with the last
// id) and eventsource-parser over fetch. Prints TAP.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.TAVERN_NPM + '/'));
const { EventSource } = await import(pathToFileURL(require.resolve('eventsource')));
const { createParser } = await import(pathToFileURL(require.resolve('eventsource-parser')));
const base = process.argv[2];
let n = 0;

function ok(good, what, got) {
	console.log(`${good ? 'ok' : 'not ok'} ${++n} - ${what}`);
	if (!good && got !== undefined) console.log('# ' + JSON.stringify(got).slice(0, 500));
}

async function call(method, path, body, headers = {}) {
	const r = await fetch(base + path, { method, headers: { 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
	return (await r.json()).data;
}

// The events of a turn, to the end or until `enough` says so.
async function read(method, path, body, headers = {}, enough = () => false) {
	const r = await fetch(base + path, { method, headers: { 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
	const events = [], text = new TextDecoder();
	const parser = createParser({ onEvent: (e) => events.push(e), onError: (e) => ok(false, 'parses', e.message) });

	for await (const part of r.body) {
		parser.feed(text.decode(part, { stream: true }));
		if (enough(events)) break; // leaves the connection
	}
	return events;
}

const textOf = (events) => events.filter((e) => e.event === 'chunk').map((e) => JSON.parse(e.data).chunk).join('');

// What an EventSource hears until the server tells it that there is no more. cut: it loses its connection once, on the way.
function listen(path, cut) {
	return new Promise((resolve) => {
		const events = [];
		let opened = 0;
		const source = new EventSource(base + path, {
			fetch: async (url, init) => {
				const r = await fetch(url, init);

				if (++opened > 1 || !cut) return r;
				const reader = r.body.getReader();
				const body = new ReadableStream({
					async pull(to) {
						const { done, value } = events.length < cut ? await reader.read() : { done: true };

						if (!done) return to.enqueue(value);
						await reader.cancel();
						to.close();
					},
				});
				return { body, url: r.url, status: r.status, redirected: r.redirected, headers: r.headers };
			},
		});
		for (const name of ['start', 'run', 'chunk', 'reasoning', 'summary', 'done'])
			source.addEventListener(name, (e) => {
				events.push({ event: name, data: e.data, id: e.lastEventId });
			});
		source.addEventListener('error', (e) => {
			if (e.data) events.push({ event: 'error', data: e.data, id: e.lastEventId });
			if (source.readyState === source.CLOSED) resolve({ events, opened });
		});
		setTimeout(() => { source.close(); resolve({ events, opened, late: true }); }, 30000).unref();
	});
}

const session = await call('POST', '/sessions', { title: 'npm', model_name: 'm?n=60&i=30&utf8=1' });
const path = `/sessions/${session.id}/respond/stream`;
const first = await read('POST', path, { message: 'Hi.', on_disconnect: 'continue' }, {}, (e) => e.filter((x) => x.event === 'chunk').length >= 5);
const floor = JSON.parse(first[0].data).floor_id;
const last = first.at(-1).id;

ok(last.startsWith(floor + ':'), 'an id names its floor', last);
const [rest, all, again] = await Promise.all([
	read('GET', `/floors/${floor}/stream`, undefined, { 'last-event-id': last }),
	listen(`/floors/${floor}/stream`),
	listen(`/floors/${floor}/stream`, 12),
]);
const reply = JSON.parse(rest.at(-1).data).generated_text;
ok(rest.at(-1).event === 'done', 'eventsource-parser: reads behind an id to the end', rest.at(-1));
ok(textOf(first) + textOf(rest) === reply, 'eventsource-parser: no gap and no repeat');
ok(!all.late && all.events.at(-1)?.event === 'done', 'eventsource: hears the end, and stops', all.events.at(-1));
ok(all.opened === 2, 'eventsource: asks once more, and is told that there is no more', all.opened);
ok(textOf(all.events) === reply, 'eventsource: the whole reply');
ok(!again.late && again.opened === 3, 'eventsource, cut off: comes back by itself', again.opened);
ok(textOf(again.events) === reply, 'eventsource, cut off: no gap and no repeat');
ok(again.events.filter((e) => e.event === 'start').length === 1, 'eventsource, cut off: one start');
const late = await listen(`/floors/${floor}/stream`);
ok(!late.late && textOf(late.events) === reply && late.events.at(-1).event === 'done', 'eventsource, late: text and done', late.events.at(-1));
console.log(`1..${n}`);
process.exit(0);
