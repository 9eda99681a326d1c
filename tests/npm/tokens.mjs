// Fresh random texts against the two reference tokenizers. Prints TAP.
// usage: node tokens.mjs VECTOR_RUNNER TOP [SEED [COUNT]], packages from $TAVERN_NPM.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.TAVERN_NPM}/x.js`);
const { Tiktoken } = require('js-tiktoken/lite');
const [runner, top, seed = '20261130', count = '5000'] = process.argv.slice(2);
const node = (...args) => spawnSync(process.execPath, args, { env: { ...process.env, NPM_DIR: process.env.TAVERN_NPM }, maxBuffer: 1 << 28 });
let n = 0, failed = 0;
function ok(good, name, detail = '') {
	console.log(`${good ? 'ok' : 'not ok'} ${++n} - ${name}`);
	if (!good) failed++, console.log(String(detail).slice(0, 2000).replace(/^/gm, '# '));
}

const data = node(`${top}/scripts/token-data.mjs`, '--check');
ok(data.status === 0, 'ranks and classes equal what the reference gives', data.stderr);

const made = node(`${top}/scripts/token-vectors.mjs`, seed, count).stdout;
const run = spawnSync(runner, ['tokens', '-'], { input: made, maxBuffer: 1 << 28 });
ok(run.status === 0, `${count} random texts: ids equal those of tiktoken`, run.stdout);

// js-tiktoken is slow, and its \s is JavaScript's: texts with the signs that differ are left out.
for (const encoding of ['o200k_base', 'cl100k_base']) {
	const other = new Tiktoken(require(`js-tiktoken/ranks/${encoding}`));
	const cases = JSON.parse(made).cases.filter(c => c.encoding === encoding && !/[\u0085\ufeffſ]/.test(c.text)).slice(0, 400);
	const bad = cases.find(c => other.encode(c.text, [], []).join() !== c.ids.join());
	ok(!bad, `${cases.length} texts: ids equal those of js-tiktoken (${encoding})`, JSON.stringify(bad));
}
console.log(`1..${n}`);
process.exit(failed ? 1 : 0);
