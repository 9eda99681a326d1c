#!/bin/sh
# tavernctl lore: the table and the JSON of a scan, over a text and over a chat, and refusals. Needs no database.
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
ctl() { "$top/tavernctl" lore "$@" >"$dir/out" 2>"$dir/err"; }
row() { # row NAME REGEX: a line of the table
	grep -qE -- "$2" "$dir/out"
	check "$1"
}
refuses() { # refuses NAME STATUS MESSAGE ARG...
	name=$1 status=$2 message=$3
	shift 3
	ctl "$@"
	[ $? -eq "$status" ] && grep -qE "$message" "$dir/err" && [ ! -s "$dir/out" ]
	check "refused: $name"
}

# ---- the table ----

ctl "$data/book.json" --text 'The BELL rings'
check 'a text'
row 'an entry that is on' '^on +0  before +100 +6  bell: key "bell" in the newest message$'
row 'a constant entry' '^on +1  after +50 +[0-9]+  rain: constant: always on$'
row 'one that is not' '^off +2  before +10 +-  whale: its key was not found$'
row 'the sum' '^2 of 3 on, [0-9]+ of [0-9]+ tokens, 1 pass, seed 1$'

printf '%s' '{"entries":{
	"0":{"uid":0,"key":["tide"],"content":"The moor.","comment":"tide"},
	"1":{"uid":1,"key":["moor","heath"],"content":"Peat.","position":4,"depth":2,"role":1},
	"2":{"uid":2,"key":["tide"],"keysecondary":["ebb"],"selectiveLogic":3,"content":"x"},
	"3":{"uid":3,"key":["tide"],"probability":0,"content":"x"},
	"4":{"uid":4,"key":["tide"],"disable":true,"content":"x"},
	"5":{"uid":5,"key":["雷"],"content":"storm","position":7,"outletName":"sky"}}}' >"$dir/moor.json"
ctl "$dir/moor.json" --recursion --text 'tide and 雷'
row 'where: in the chat' '^on +1  at_depth 2 user +100 +[0-9]+  key "moor" in what entries of pass 1 wrote$'
row 'where: an outlet' '^on +5  outlet sky +100 '
row 'why not: secondary keys' '^off +2 .*key "tide" in the newest message, but of its secondary keys it needs all \("ebb" decided\)$'
row 'why not: chance' '^off +3 .*found, but rolled [0-9.]+ against its probability of 0 %$'
row 'why not: switched off' '^off +4 .*switched off in the book$'
row 'three passes' ', 3 passes, seed 1$'
ctl "$dir/moor.json" --text 'tide and 雷'
row 'without recursion' '^off +1 .*none of its 2 keys was found$'
ctl "$dir/moor.json" --budget 1 --text 'tide'
row 'a budget' '^off +0 .*found, but it does not fit into the budget$'
ctl "$dir/moor.json" "$data/book.json" --text 'tide bell'
row 'more than one book' '^on +0 .*\[Harbour\] bell: key "bell"'
ctl "$data/book.json" --text BELL --case-sensitive
row 'upper and lower case' '^off +0 '
ctl "$data/book.json" --text bells --whole-words
row 'whole words' '^off +0 '

# ---- a chat, a card ----

printf '%s\n' '{"user_name":"Ada","character_name":"Maren","chat_metadata":{}}' '{"name":"Ada","is_user":true,"mes":"A whale?"}' \
	'{"name":"Maren","is_user":false,"mes":"No."}' '{"name":"Ada","is_user":true,"mes":"The bell."}' >"$dir/chat.jsonl"
ctl "$data/book.json" --chat "$dir/chat.jsonl"
row 'a chat: two messages far' '^off +2 '
ctl "$data/book.json" --chat "$dir/chat.jsonl" --scan-depth 3
row 'a chat: further' '^on +2 .*whale: key "whale" 2 messages above the newest$'
printf '%s' '{"spec":"chara_card_v2","spec_version":"2.0","data":{"name":"Maren","first_mes":"Hello.",
	"character_book":{"name":"Own","entries":[{"id":3,"keys":["bell"],"content":"Mine.","enabled":true,"insertion_order":1,"extensions":{}}]}}}' >"$dir/card.json"
ctl "$dir/card.json" --text 'bell'
row 'the book of a card' '^on +3 .*key "bell" in the newest message$'

# ---- JSON ----

ctl "$data/book.json" --text 'bell' --seed 9 --json
perl -MJSON::PP -e '
	my $d = decode_json(do { local $/; <STDIN> });
	my %v = map { $_->{uid} => $_->{verdict} } @{ $d->{entries} };
	exit !($d->{activated} == 2 && $d->{seed} == 9 && $v{0} eq "key" && $v{1} eq "constant" && $v{2} eq "not_key" && $d->{files}[0]{kind} eq "worldbook")' <"$dir/out"
check 'as JSON'
printf '%s' '{"entries":{"0":{"uid":0,"key":["a"],"content":"x","probability":50}}}' >"$dir/coin.json"
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do ctl "$dir/coin.json" --text a --seed "$seed" && sed -n 2p "$dir/out" | cut -c1-3; done >"$dir/coins"
[ "$(sort -u "$dir/coins" | wc -l)" -eq 2 ]
check 'chance follows the seed'

# ---- refusals ----

printf '{"entries": {"0": {"key": ["a"], "content": "x" "y"}}}' >"$dir/broken.json"
refuses 'broken JSON' 1 'broken.json: line 1, column 49: not valid JSON: ' "$dir/broken.json" --text a
printf '{"entries": [], "name": 3' >"$dir/cut.json"
refuses 'a file that is cut off' 1 'cut.json: line 1, column 26: not valid JSON: ' "$dir/cut.json" --text a
refuses 'a missing file' 1 'nowhere.json: No such file' "$dir/nowhere.json" --text a
refuses 'no book among the files' 1 'no world book among the files' "$data/preset.json" --text a
refuses 'neither text nor chat' 2 '^usage: tavernctl lore ' "$data/book.json"
refuses 'no file' 2 '^usage: ' --text a
refuses 'a missing chat' 1 'gone.jsonl: No such file' "$data/book.json" --chat "$dir/gone.jsonl"
refuses 'no number' 2 'expected a whole number' "$data/book.json" --text a --scan-depth deep

echo "1..$n"
