// Cards through two independent libraries: what we write, they accept and read as we do; what they
// write, we read. Prints TAP. usage: node cards.mjs CARDTOOL CARDS_JSON, packages from $TAVERN_NPM.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isDeepStrictEqual as same } from 'node:util';

const require = createRequire(`${process.env.TAVERN_NPM}/x.js`);
const { CCardLib } = require('@risuai/ccardlib');
const utils = require('character-card-utils');
const [tool, file] = process.argv.slice(2);

let count = 0, failed = 0;
function ok(good, name, detail) {
	console.log(`${good ? 'ok' : 'not ok'} ${++count} - ${name}`);
	if (!good) failed++, console.log(`# ${JSON.stringify(detail)?.slice(0, 2000)}`);
}
function run(form, input) {
	const r = spawnSync(tool, [form], { input, maxBuffer: 1 << 28 });
	if (r.status !== 0) throw new Error(`${form}: ${r.stderr}`);
	return r.stdout;
}
const ours = (form, card) => JSON.parse(run(form, typeof card === 'string' || Buffer.isBuffer(card) ? card : JSON.stringify(card)));
// The fields both specs know.
const common = ({ data }) => Object.fromEntries(['name', 'description', 'personality', 'scenario', 'first_mes', 'mes_example',
	'creator_notes', 'system_prompt', 'post_history_instructions', 'alternate_greetings', 'tags', 'creator', 'character_version']
	.map(k => [k, data[k]]));
const book = ({ data }) => data.character_book?.entries.map(e => [e.keys, e.content, e.enabled, e.insertion_order, e.constant ?? false,
	e.selective ?? false, e.secondary_keys ?? [], e.comment ?? '', e.position]);
const tries = f => { try { return f(); } catch (e) { return { fault: String(e) }; } };

for (const c of JSON.parse(readFileSync(file)).cases) {
	if (c.expected_error) continue;
	const input = c.json ? JSON.stringify(c.json) : Buffer.from(c.bytes_base64, 'base64');
	const v2 = ours('v2', input), v3 = ours('v3', input);

	const parsed = utils.v2.safeParse(v2);
	ok(parsed.success, `${c.id}: our V2 is valid for character-card-utils`, parsed.error?.issues);
	ok(CCardLib.character.check(v2) === 'v2', `${c.id}: our V2 is V2 for ccardlib`, v2);
	if (v3.spec_version === '3.0') ok(CCardLib.character.check(v3) === 'v3', `${c.id}: our V3 is V3 for ccardlib`, v3);

	// theirs from ours, read by us again
	const up = tries(() => CCardLib.character.convert(v2, { from: 'v2', to: 'v3' }));
	const back = tries(() => ours('v2', up));
	ok(same(common(back), common(v2)) && same(book(back), book(v2)), `${c.id}: V2 to V3 by ccardlib and back`, back);
	const down = tries(() => ours('v3', CCardLib.character.convert(v3, { from: 'v3', to: 'v2' })));
	ok(same(common(down), common(v3)), `${c.id}: V3 to V2 by ccardlib and back`, down);
	const filled = tries(() => ours('v2', utils.backfillV2WithObsolescenceNotice(utils.parseToV2(v2))));
	ok(same(common(filled), common(v2)), `${c.id}: backfilled with a notice by character-card-utils`, filled);

	// containers
	if (count % 4) continue;
	const png = run('png', input), charx = run('charx', input);
	ok(same(ours('v3', png), v3) && run('png', png).equals(png), `${c.id}: through PNG`);
	ok(same(common(ours('v3', charx)), common(v3)) && run('charx', charx).equals(charx), `${c.id}: through CHARX`);
}
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
