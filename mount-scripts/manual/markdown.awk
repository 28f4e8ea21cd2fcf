# A section of a Markdown document of ours as roff, so that man pages say what the documents say:
#
#     awk -v heading='## Exit codes' [-v table=2] -f markdown.awk FILE
#
# The section goes as far as the next heading of its kind or of a higher one. With `table` only that table of it comes out. The first column of a table is
# what is told of; then comes what it means, and then the other columns with their headings. "([more](...))" is left out. Exit code 1: there is no such section.

function escape(text) { gsub(/\\/, "\\e", text); return text }

# Code in bold, with the keyboard's hyphens; of links the text only.
function inline(text,    out, part) {
    out = ""
    gsub(/ \(\[more\]\([^)]*\)\)/, "", text)
    text = escape(text)
    while (match(text, /`[^`]*`|\[[^\]]*\]\([^)]*\)|\*\*[^*]*\*\*|\*[^*]*\*/)) {
        out = out substr(text, 1, RSTART - 1)
        part = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (part ~ /^`/) { part = substr(part, 2, length(part) - 2); gsub(/-/, "\\-", part); out = out "\\fB" part "\\fP" }
        else if (part ~ /^\[/) { sub(/\]\([^)]*\)$/, "", part); out = out inline_again(substr(part, 2)) }
        else { gsub(/\*/, "", part); out = out "\\fI" part "\\fP" }
    }
    return out text
}

# The text of a link may be code.
function inline_again(text) {
    if (text ~ /^`.*`$/) { text = substr(text, 2, length(text) - 2); gsub(/-/, "\\-", text); return "\\fB" text "\\fP" }
    return text
}

# A line must not begin with what roff takes for a request.
function say(text) {
    if (text ~ /^[.']/) text = "\\&" text
    print text
}

function level(line) { match(line, /^#+/); return RLENGTH }

# A cell's `\|` is a bar.
function cells(line,    count, i) {
    gsub(/\\\|/, "\001", line)
    sub(/^\| */, "", line)
    sub(/ *\| *$/, "", line)
    count = split(line, cell, / *\| */)
    for (i = 1; i <= count; i++) gsub(/\001/, "|", cell[i])
    return count
}

function row(line,    count, i, body) {
    count = cells(line)
    print ".TP"
    say(inline(cell[1]))
    body = ""
    for (i = count; i > 1; i--) if (meansIt(head[i])) body = inline(cell[i])
    for (i = 2; i <= count; i++) if (!meansIt(head[i]) && cell[i] != "") body = body (body == "" ? "" : "; ") head[i] ": " inline(cell[i])
    say(body == "" ? "\\&" : body)
}

function meansIt(heading) { return heading ~ /^(meaning|what )/ }

function wanted() { return !table || tables == table }

$0 == heading { inside = 1; depth = level($0); found = 1; next }
!inside { next }
/^#+ / {
    if (level($0) <= depth) { inside = 0; next }
    if (!table) { sub(/^#+ */, ""); print ".SS \"" inline($0) "\"" }
    next
}
/^\|/ {
    if (!inTable) { inTable = 1; tables++; count = cells($0); for (i = 1; i <= count; i++) head[i] = cell[i]; next }
    if ($0 ~ /^\| *-/) next
    if (wanted()) row($0)
    next
}
{ if (inTable && wanted() && !table) print ".PP"; inTable = 0 }
table { next }
/^    / { if (!inCode) print ".PP\n.EX"; inCode = 1; line = escape($0); gsub(/-/, "\\-", line); say(line); next }
{ if (inCode) print ".EE"; inCode = 0 }
/^$/ { print ".PP"; next }
{ sub(/^- /, "\\(bu "); say(inline($0)) }
END {
    if (inCode) print ".EE"
    if (!found) exit 1
}
