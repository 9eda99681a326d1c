#!/bin/sh
# tavernctl macro: what it prints, where its diagnostics go, and what it says of faults. Needs no database.
top=${builddir:-.}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0
export LC_ALL=C

check() { # check NAME: is the condition of the last command what NAME says?
	status=$?
	n=$((n + 1))
	if [ "$status" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}
ctl() { "$top/tavernctl" macro "$@" >"$dir/out" 2>"$dir/err"; }
prints() { # prints NAME WANT TEXT ARG...: the text expands to WANT, exactly, and nothing else is said
	name=$1 want=$2
	printf '%s' "$3" >"$dir/in"
	shift 3
	ctl "$@" "$dir/in" && printf '%s' "$want" | cmp -s - "$dir/out" && [ ! -s "$dir/err" ]
	check "$name"
}
refuses() { # refuses NAME MESSAGE ARG...: status 2, the message on standard error, no text
	name=$1 message=$2
	shift 2
	ctl "$@"
	[ $? -eq 2 ] && grep -q "$message" "$dir/err" && [ ! -s "$dir/out" ]
	check "refused: $name"
}

prints 'names' 'Alice meets Bob.
' '{{user}} meets {{char}}.
' --user Alice --char Bob
prints 'a variable' 'calm 5' '{{.mood}} {{getvar::hp}}' --var mood=calm --var hp=5
prints 'a value with an equals sign' 'a=b' '{{.x}}' --var x=a=b
prints 'a JSON variable' '3' '{{.bag.gold}}' --var 'bag:={"gold":3}'
prints 'the last of two' '2' '{{.x}}' --var x=1 --var x=2
prints 'a global variable' 'earth[]' '{{$world}}[{{.world}}]' --global world=earth
prints 'the clock' '3:04 PM 2024-02-09' '{{time}} {{isodate}}' --now 1707491045000
prints 'the clock as text' '15:04' '{{isotime}}' --now 2024-02-09T15:04:05Z
prints 'a zone' '16:04' '{{isotime}}' --zone Europe/Berlin --now 2024-02-09T15:04:05Z
prints 'a zone by offset' '10:04' '{{isotime}}' --zone -05:00 --now 1707491045000
prints 'no clock' '[]' '[{{isotime}}]' --no-time
prints 'a field' 'A knight called Bob.' '{{description}}' --char Bob --set 'description=A knight called {{char}}.'
prints 'a field of the run' 'model-x' '{{model}}' --set model=model-x
prints 'a group' 'Ann, Bob' '{{group}}' --char Ann --char Bob
prints 'fields of the character named last' 'Ann1' '{{char}}{{description}}' --char Ann --set description=1 --char Bob --set description=2
prints 'a dialect' 'true' '{{.n > 2}}' --dialect sillytavern --var n=3
prints 'marinara' 'y' '{{#if mood == "CALM"}}y{{/if}}' -d marinara --var mood=calm
prints 'a choice block' 'soft' '{{tone}}' -d marinara --preset tone=soft
prints 'an answer' 'wet' '{{#if decision:"It rains"}}wet{{/if}}' -d marinara --answer 'It rains=yes'
prints 'a chosen option' 'loud' '{{#if decision_choice:"Mood" == "angry"}}loud{{/if}}' -d marinara --answer Mood=angry
prints 'a tool' 'yesno' '{{if tool:search}}yes{{/if}}{{if capability:voice}}yes{{else}}no{{/if}}' -d tomoribot --tool search --capability voice=0
prints 'an outlet' 'Old lore.' '{{outlet::lore}}' --outlet 'lore=Old lore.'
prints 'a message keeps its writes' '{{setvar::x::1}}Alice' '{{setvar::x::1}}{{user}}' --message --user Alice
prints 'no line break is added' 'x' 'x'
printf '%s' '{{roll::1d1000000}} {{random::a::b::c::d}}' >"$dir/in"
ctl --seed 7 "$dir/in" && cp "$dir/out" "$dir/first" && ctl --seed 7 "$dir/in" && cmp -s "$dir/first" "$dir/out"
check 'the same seed gives the same text'
ctl --seed 8 "$dir/in" && ! cmp -s "$dir/first" "$dir/out"
check 'another seed another'
printf '{{user}}' | "$top/tavernctl" macro --user Zoe - | grep -qx 'Zoe'
check 'standard input'

# ---- diagnostics ----

printf 'a\n {{nope}}{{setvar::x::1}}{{deletevar::x}}' >"$dir/in"
ctl --trace "$dir/in" && printf 'a\n {{nope}}' | cmp -s - "$dir/out" &&
	grep -q "^$dir/in:2:2: macro_unknown: .*: {{nope}}\$" "$dir/err" && grep -q '^trace: macro raw: {{nope}} => {{nope}}$' "$dir/err" &&
	grep -q '^set: branch x = 1 (setvar)$' "$dir/err" && grep -q '^delete: branch x (deletevar)$' "$dir/err"
check 'trace: beside the text: places, traces, writes'
ctl --json "$dir/in" && grep -q '"text": "a\\n {{nope}}"' "$dir/out" && grep -q '"mutation_preview"' "$dir/out" && grep -q '"column": 2' "$dir/out"
check 'json: all of it'
printf '{{time}}\n{{if {{x}}}}{{setvar::y::1}}{{/if}}{{y}}' >"$dir/in"
ctl --lint --before-history "$dir/in"
[ $? -eq 1 ] && grep -q "^$dir/in:1:1: macro_time_before_history: " "$dir/out" && grep -q "^$dir/in:2:13: macro_write_in_branch: " "$dir/out" &&
	[ "$(grep -c macro_unknown "$dir/out")" -eq 2 ]
check 'lint: findings with their places, status 1'
ctl --lint --var x=1 --var y=1 "$dir/in"
[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ]
check 'lint: given variables are known'
printf 'plain {{user}}' >"$dir/in"
ctl --lint "$dir/in" && [ ! -s "$dir/out" ]
check 'lint: nothing to say, status 0'
ctl --list && grep -q '^{{setvar::name::value}}$' "$dir/out" && grep -q '(varexists)' "$dir/out" && grep -q 'marinara' "$dir/out"
check 'list: the catalogue'

# ---- faults ----

refuses 'a file that is not there' 'No such file' "$dir/none"
refuses 'a directory' 'Invalid argument' "$dir"
printf 'a\377b' >"$dir/in"
refuses 'bytes that are no text' 'UTF-8' "$dir/in"
printf 'a\000b' >"$dir/in"
refuses 'a zero byte' 'UTF-8' "$dir/in"
refuses 'no file' 'usage: tavernctl macro' --trace
refuses 'two files' 'usage: tavernctl macro' "$dir/in" "$dir/in"
refuses 'an unknown option' 'nonsense' --nonsense "$dir/in"
refuses 'an unknown dialect' 'handlebars: no dialect' --dialect handlebars "$dir/in"
refuses 'a variable without a value' 'expected NAME=VALUE' --var x "$dir/in"
refuses 'a variable without a name' 'the name is missing' --var =x "$dir/in"
refuses 'bad JSON' 'not JSON' --var 'x:={' "$dir/in"
refuses 'a name that has no value' 'no name of the catalogue' --set nonsense=1 "$dir/in"
refuses 'a seed that is no number' 'whole number' --seed x "$dir/in"
refuses 'a time that is none' 'a time is' --now yesterday "$dir/in"
refuses 'a zone that is none' 'no time zone' --zone Mars/Olympus "$dir/in"
echo "1..$n"
