# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f json-lines.awk FILE: one line for each value of a JSON object, "path<TAB>value", the path with
# dots and array numbers from 0: devices.1.profile.title. Strings are unescaped, but line breaks and tabs
# become spaces. For scripts/demo-report, which may use no more than a POSIX system has; it trusts its
# input to be JSON.

{ text = text $0 "\n" }

function skip() {
	while (substr(text, at, 1) ~ /[ \t\r\n]/)
		at++
}

function string(    out, c) {
	at++
	while ((c = substr(text, at, 1)) != "\"" && c != "") {
		if (c == "\\") {
			c = substr(text, ++at, 1)
			if (c ~ /[nrtbf]/) {
				c = " "
			} else if (c == "u") {
				c = "?"
				at += 4
			}
		}
		out = out c
		at++
	}
	at++
	return out
}

function value(path,    n, key, from) {
	skip()
	key = substr(text, at, 1)
	if (key == "{" || key == "[") {
		n = 0
		at++
		skip()
		while (substr(text, at, 1) !~ /^[]}]?$/) {
			from = n++
			if (key == "{") {
				from = string()
				skip()
				at++
			}
			value(path == "" ? from : path "." from)
			skip()
			if (substr(text, at, 1) == ",")
				at++
			skip()
		}
		at++
	} else if (key == "\"") {
		print path "\t" string()
	} else {
		match(substr(text, at), /^[^],} \t\r\n]*/)
		print path "\t" substr(text, at, RLENGTH)
		at += RLENGTH ? RLENGTH : 1
	}
}

END {
	at = 1
	value("")
}
