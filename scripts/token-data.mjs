#!/usr/bin/env node
// Writes the tokenizer's data files from the reference implementations:
//   data/<encoding>.ranks.gz   tokens in rank order, each a length byte and its bytes (npm js-tiktoken)
//   src/token/classes.inc      Unicode classes as the reference's regex engine sees them (npm tiktoken)
// usage: node scripts/token-data.mjs [--check]   (--check compares with what is committed, writes nothing)
import { createRequire } from 'node:module';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(join(process.env.NPM_DIR ?? process.cwd(), 'x.js'));

function ranks(encoding) {
	const { bpe_ranks } = require(`js-tiktoken/ranks/${encoding}`);
	const out = [];
	let next = 0;
	for (const line of bpe_ranks.split('\n').filter(Boolean)) {
		const [, first, ...tokens] = line.split(' ');
		if (Number(first) !== next) throw new Error(`${encoding}: gap in the ranks at ${next}`);
		for (const t of tokens) {
			const bytes = Buffer.from(t, 'base64');
			if (bytes.length < 1 || bytes.length > 255) throw new Error(`${encoding}: token ${next} has ${bytes.length} bytes`);
			out.push(Buffer.from([bytes.length]), bytes);
			next++;
		}
	}
	return Buffer.concat(out);
}

// One run of the reference's own engine per class over all code points, space-separated by nothing:
// with the class as the whole pattern only its members come out.
function classes() {
	const { Tiktoken } = require('tiktoken');
	const { bpe_ranks } = require('tiktoken/encoders/o200k_base.json');
	let all = '';
	for (let c = 0; c < 0x110000; c++) if (c < 0xd800 || c > 0xdfff) all += String.fromCodePoint(c);
	const names = ['UPPER', 'LOWER', 'BOTH', 'MARK', 'NUMBER', 'SPACE', 'BREAK'];
	const patterns = ['[\\p{Lu}\\p{Lt}]', '\\p{Ll}', '[\\p{Lm}\\p{Lo}]', '\\p{M}', '\\p{N}', '[^\\S\\r\\n]', '[\\r\\n]'];
	const cls = new Uint8Array(0x110000);
	patterns.forEach((pattern, i) => {
		const t = new Tiktoken(bpe_ranks, {}, pattern);
		for (const ch of new TextDecoder('utf-8', { ignoreBOM: true }).decode(t.decode(t.encode(all, [], []))))
			cls[ch.codePointAt(0)] = i + 1;
		t.free();
	});
	let text = '/* Made by scripts/token-data.mjs: first code point and class of each run; what is not named is CLASS_OTHER. */\n';
	const rows = [];
	for (let c = 0, last = 0; c < 0x110000; c++) {
		if (cls[c] !== last) rows.push(`{ 0x${c.toString(16)}, CLASS_${cls[c] ? names[cls[c] - 1] : 'OTHER'} },`);
		last = cls[c];
	}
	for (let i = 0; i < rows.length; i += 4) text += rows.slice(i, i + 4).join(' ') + '\n';
	return text;
}

const check = process.argv.includes('--check');
let bad = 0;
for (const encoding of ['o200k_base', 'cl100k_base']) {
	const path = join(top, 'data', `${encoding}.ranks.gz`);
	const bytes = ranks(encoding);
	if (!check) writeFileSync(path, gzipSync(bytes, { level: 9 }));
	else if (!gunzipSync(readFileSync(path)).equals(bytes)) console.error(`${path} differs from the reference`), bad++;
}
const inc = join(top, 'src/token/classes.inc');
if (!check) writeFileSync(inc, classes());
else if (readFileSync(inc, 'utf8') !== classes()) console.error(`${inc} differs from the reference`), bad++;
process.exit(bad ? 1 : 0);
