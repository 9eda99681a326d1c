#!/usr/bin/env node
// Prints token vectors made by the reference (npm tiktoken) from seeded random texts: CJK, emoji, contractions,
// U+017F, U+180E, U+FEFF, NEL, marks, code points of all planes.
// usage: node scripts/token-vectors.mjs [SEED [COUNT]] | tests/vectors/run tokens -
// tests/vectors/tokens.json is `node scripts/token-vectors.mjs 1 400`.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.NPM_DIR ?? process.cwd(), 'x.js'));
const tiktoken = require('tiktoken');

let state = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 400);
const random = () => {
	state = (state ^ (state << 13)) >>> 0;
	state ^= state >>> 17;
	state = (state ^ (state << 5)) >>> 0;
	return state / 2 ** 32;
};
const below = n => Math.floor(random() * n);
const pick = list => list[below(list.length)];
const words = ['the', 'The', 'HELLO', 'don', 'camelCase', 'HTTPServer', 'x', 'naïve', 'Straße', 'ΑΒΓαβγ', 'Привет', 'ПРИВЕТ', 'ǅungla',
	'ʰʷ', 'ªº', '你好', '世界设定', 'こんにちは', 'カタカナ', '안녕하세요', 'אבג', 'नमस्ते', 'ไทย', '😀', '👩‍👩‍👧', '🏳️‍🌈', 'é', 'ａ',
	'１２３', '½', 'Ⅷ', '²'];
const bits = ["'s", "'S", "'t", "'re", "'VE", "'ll", "'lL", "'d", "'m", "'ſ", "'x", '’s', ' ', '  ', '   ', '\n', '\r\n', '\n\n', '\t', '\u00a0',
	'\u3000', '\u2028', '\u0085', '\ufeff', '\u180e', '\u200b', '\u1680', '.', ',', '!!!', '//', '/\n', '\\', '"', '“', '—', '…', '(', ')', '{{',
	'}}', '<|endoftext|>', '0', '12', '345', '6789', '\u0301', '\u0345', '\u20dd', 'ſ', 'K', 'İ', 'ı', '_', '`', '~', '$', '€', '\u007f'];
const rune = () => {
	const c = 1 + below(0x10ffff);
	return c >= 0xd800 && c < 0xe000 ? 'A' : String.fromCodePoint(c);
};
function text() {
	let out = '';
	for (let n = 1 + below(30); n > 0; n--) {
		const r = random();
		out += r < 0.45 ? pick(words) : r < 0.9 ? pick(bits) : r < 0.95 ? String.fromCodePoint(0x20 + below(0x2fff)) : rune();
	}
	return out;
}
const fixed = ['', 'a'.repeat(300), '你'.repeat(200), 'ab'.repeat(200) + '你好'.repeat(50), ' '.repeat(300) + 'x', '\n'.repeat(200),
	'='.repeat(500), 'aB'.repeat(150), '的设定世界'.repeat(40), "'".repeat(130) + 's'];
const cases = [];
for (const encoding of ['o200k_base', 'cl100k_base']) {
	const t = tiktoken.get_encoding(encoding);
	const add = s => cases.push({ id: `${encoding}-${cases.length}`, encoding, text: s, ids: [...t.encode(s, [], [])] });
	fixed.forEach(add);
	for (let i = 0; i < count / 2; i++) add(text());
	t.free();
}
const rows = cases.map(c => JSON.stringify(c)).join(',\n');
process.stdout.write(`{"what":"ids of the reference tokenizer; made by scripts/token-vectors.mjs","cases":[\n${rows}\n]}\n`);
