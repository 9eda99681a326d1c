#!/bin/sh
# tavernctl assemble: the messages of committed files, both outputs, and what it says of files that are no use. Needs no database.
top=${builddir:-.}
data=${srcdir:-.}/tests/data
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0
export LC_ALL=C

check() { # check NAME: is the condition of the last command what NAME says?
	status=$?
	n=$((n + 1))
	if [ "$status" -eq 0 ]; then echo "ok $n - $1"; else
		echo "not ok $n - $1"
		sed 's/^/# /' "$dir/out" "$dir/err"
	fi
}
ctl() { "$top/tavernctl" assemble "$@" >"$dir/out" 2>"$dir/err"; }
has() { # has NAME TEXT...: each line stands in the output, whole
	name=$1
	shift
	(for line; do grep -qxF -- "$line" "$dir/out" || exit 1; done)
	check "$name"
}
refuses() { # refuses NAME STATUS MESSAGE ARG...: the status, the message on standard error, nothing on standard output
	name=$1 status=$2 message=$3
	shift 3
	ctl "$@"
	[ $? -eq "$status" ] && grep -qE "$message" "$dir/err" && [ ! -s "$dir/out" ]
	check "refused: $name"
}

# ---- the messages, as text ----

ctl --text "$data/preset.json" "$data/card.json" "$data/book.json" "$data/regex.json" --message 'The bell rings'
check 'a preset, a card, a book and scripts'
has 'roles, sections and texts' '--- system (main, 9 tokens)' 'You are Maren, talking with User.' 'The harbour bell is cracked.' \
	'--- system example_user (dialogueExamples, 5 tokens)' '--- user (chatHistory, 3 tokens)' 'The bell rings'
has 'what was spent' '     9  main' '     0  nsfw (not sent: empty)' '    96  in all, of 7892'
grep -q '^ *6  before 0 bell: key "bell" in the newest message$' "$dir/out"
check 'which entries are on, and why'
[ ! -s "$dir/err" ]
check 'nothing to complain of'
[ "$(grep -c '^--- ' "$dir/out")" -eq 14 ]
check 'as many messages as are sent'

ctl --text -u Ada -g 1 "$data/preset.json" "$data/card.json"
has 'options before the files, short' 'You are Maren, talking with Ada.'
ctl "$data/preset.json" "$data/card.json" --text --user Ada --mode native --seed 7 --now 0 --zone Europe/Berlin --context 2000 --reply 500
check 'options behind the files, long'
has 'the budget that was asked for' "$(grep 'in all, of 1' "$dir/out")"

ctl --text --type impersonate --message 'The whale!' "$data/preset.json" "$data/card.json"
grep -qx 'what is typed stays unsaid in a turn of type impersonate' "$dir/err" && ! grep -qF 'The whale' "$dir/out"
check 'what is typed is said in turns of one'"'"'s own only'

printf '%s\n' '{"user_name":"Ada","character_name":"Maren","chat_metadata":{"note_prompt":"Mind the fog.","note_depth":0}}' \
	'{"name":"Maren","is_user":false,"mes":"Late again."}' '{"name":"Ada","is_user":true,"mes":"The whale!"}' \
	'{"name":"x","is_system":true,"mes":"hidden"}' >"$dir/chat.jsonl"
ctl --text "$data/preset.json" "$data/card.json" "$data/book.json" "$dir/chat.jsonl"
has 'a chat: its messages, note and names' 'Late again.' 'The whale!' 'Mind the fog.' 'You are Maren, talking with Ada.' 'Nobody speaks of the whale.'
! grep -qF -e hidden -e 'The lamp turns' "$dir/out"
check 'a chat: no hidden message, no greeting'

# ---- the same as JSON ----

ctl "$data/preset.json" "$data/card.json" "$data/book.json" -M 'The bell rings'
check 'as JSON'
perl -MJSON::PP -e '
	my $d = decode_json(do { local $/; <STDIN> });
	my ($on) = grep { $_->{uid} == 0 } @{ $d->{lore}{entries} };
	exit !(@{ $d->{messages} } == 14 && $d->{messages}[0]{content} eq "You are Maren, talking with User." && $d->{messages}[0]{source} eq "main"
		&& $d->{tokens} <= $d->{budget} && $on->{activated} && $on->{verdict} eq "key"
		&& @{ $d->{files} } == 3 && $d->{files}[0]{kind} eq "preset" && $d->{files}[0]{receipt}{kept} > 0
		&& ref $d->{trace}{macro} && $d->{sections}[0]{identifier} eq "main")' <"$dir/out"
check 'messages, sections, entries, receipts and trace'
cp "$dir/out" "$dir/first"
ctl "$data/preset.json" "$data/card.json" "$data/book.json" -M 'The bell rings' && cmp -s "$dir/out" "$dir/first"
check 'the same files give the same answer'

# ---- what an author should know ----

printf '%s' '{"prompts":[{"identifier":"a","content":"x"},null,{"identifier":"b","content":"{{nope}}","system_prompt":false}],
	"prompt_order":[{"character_id":100001,"order":[{"identifier":"a","enabled":true},{"identifier":"b","enabled":true}]}]}' >"$dir/p.json"
ctl --text "$dir/p.json" && grep -q "p.json:/prompts/0: system_prompt_not_false (prompt_never_sent)" "$dir/err"
check 'a row that is never sent, with its place'
grep -q '^macro nope: ' "$dir/err"
check 'an unknown macro, with its name'

# ---- files of no use ----

printf '{"prompts": [\n  {"identifier": "main",}\n]}' >"$dir/broken.json"
refuses 'broken JSON' 1 'broken.json: line 2, column 25: not valid JSON: ' "$data/card.json" "$dir/broken.json"
printf '{"prompts": {"a": 1}, "prompt_order": []}' >"$dir/wrong.json"
refuses 'a place in the document' 1 'wrong.json:/prompts: no preset: "prompts" is object, expected a list \(not_a_preset\)' "$dir/wrong.json"
refuses 'a missing file' 1 'nowhere.json: No such file or directory' "$dir/nowhere.json"
refuses 'a directory' 1 "$dir: " "$dir"
printf '{"name": "x", "colors": []}' >"$dir/theme.json"
refuses 'another kind of file' 1 'theme.json: neither a preset, a character card, a world book, regex scripts nor a chat' "$dir/theme.json"
: >"$dir/empty.json"
refuses 'an empty file' 1 'empty.json: the file is empty' "$dir/empty.json"
printf '\211PNG\r\n\032\n\000\000\377\377IDATx' >"$dir/cut.png"
refuses 'a picture that is cut off' 1 'cut.png:.*the PNG is cut off' "$dir/cut.png"
refuses 'a second preset' 1 'a second preset' "$data/preset.json" "$data/preset.json"
refuses 'no file' 2 '^usage: tavernctl assemble '
refuses 'an unknown mode' 2 '^tavernctl: wild: no mode: compat_strict' --mode wild "$data/card.json"
refuses 'a swipe of the greeting alone' 1 'shows greeting 1: no model is asked' --type swipe "$data/preset.json" "$data/card.json"
refuses 'an unknown type' 2 'no type: normal' --type wild "$data/card.json"
refuses 'no number' 2 '^tavernctl: few: expected a whole number' --context few "$data/card.json"
refuses 'an unknown option' 2 '^usage: ' --wild "$data/card.json"
refuses 'no time zone' 2 'no time zone' --zone Nowhere/Land "$data/card.json"
refuses 'what does not fit' 1 'context_budget_exceeded' --context 20 --reply 10 "$data/preset.json" "$data/card.json" -M x
refuses 'no greeting of that number' 2 'expected a whole number' --greeting -1 "$data/card.json"

echo "1..$n"
