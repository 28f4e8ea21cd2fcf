# The commands of a man page, from what `backupfs --experimental-dump-help` prints.

# Text as roff takes it literally.
def plain: gsub("\\\\"; "\\e") | gsub("(?m)^(?<c>[.'])"; "\\&\(.c)");
# The same for what is typed: its hyphens are those of the keyboard.
def typed: plain | gsub("-"; "\\-");

def literal: ".EX\n" + typed + "\n.EE";

# Paragraphs; one whose lines are indented stays as it is.
def paragraphs:
    split("\n\n") | map(if test("(?m)^  ") then ".PP\n" + literal else ".PP\n" + plain end) | join("\n");

# A discussion ends with its example.
def discussion:
    (. // "") as $text
    | ($text | split("(^|\n)Example:\n"; "")) as $parts
    | [($parts[0] | sub("\\s+$"; "") | select(. != "") | paragraphs),
        ($parts[1] // "" | sub("\\s+$"; "") | select(. != "") | gsub("(?m)^  "; "") | ".PP\nExample:\n.PP\n.RS 4\n" + literal + "\n.RE")]
    | join("\n");

def option_name: if .kind == "long" then "--" + .name else "-" + .name end;
def value: "\\fI" + (.valueName | ascii_upcase | plain) + "\\fP";

def tag:
    if .kind == "positional" then value
    else
        # The short name first, as in --help.
        ([.names[] | select(.kind != "long")] + [.names[] | select(.kind == "long")] | map("\\fB" + (option_name | typed) + "\\fP") | join(", "))
        + (if .kind == "option" then " " + value else "" end)
    end;

def item: ".TP\n" + tag + "\n" + (.abstract // "" | plain);

def shown: map(select(.shouldDisplay));
# What every command takes is told once.
def common: .names // [] | any(.name == "store" or .name == "password-file" or .name == "help" or .name == "version");

def command($prefix):
    ($prefix + " " + .commandName) as $name
    | (.arguments // [] | shown | map(select(common | not))) as $arguments
    | ([.subcommands // [] | .[] | select(.shouldDisplay and .commandName != "help")]) as $subcommands
    | ([$arguments[] | select(.kind == "positional") | . as $argument
        | value + (if .isRepeating then " ..." else "" end) | if $argument.isOptional then "[" + . + "]" else . end]) as $positionals
    | ".SS \"" + ($name | plain) + "\"\n\\fB" + ($name | typed) + "\\fP"
        + (if any($arguments[]; .kind != "positional") then " [\\fIoptions\\fP]" else "" end)
        + (if ($subcommands | length) > 0 then " \\fIcommand\\fP" else "" end)
        + ($positionals | map(" " + .) | join(""))
        + "\n.PP\n" + (.abstract | plain)
        + (.discussion | discussion | if . == "" then "" else "\n" + . end)
        + ([$arguments[] | select(.abstract) | item] | map("\n" + .) | join(""))
        + ($subcommands | map("\n" + command($name)) | join(""));

.command
| . as $root
| (if $part == "name" then .abstract | sub("\\.$"; "") | sub("^B"; "b") | plain
    elif $part == "description" then .discussion | split("\n\nExample:") | .[0] | ".PP\n" + plain
    elif $part == "common" then
        [.. | objects | select(has("valueName")) | select(.shouldDisplay and common)] | unique_by(.preferredName.name) | map(item) | join("\n")
    else [.subcommands[] | select(.shouldDisplay and .commandName != "help") | command($root.commandName)] | join("\n") end)
