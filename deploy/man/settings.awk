# settings.awk: puts the settings that `rematd --help` lists into a manual page.
#
#   rematd --help | awk -v form=flags -f settings.awk PAGE.in -
#
# replaces the line @SETTINGS@ of the page (mdoc). form: "flags", as --max-body;
# "keys", as max-body of a configuration file, without what only the command
# line takes. So there is one list of settings, the program's.

# A line of text: nothing in it is markup, each sentence begins a line.
function put(text) {
    gsub(/\\/, "\\e", text)
    gsub(/--/, "\\-\\-", text)
    text = by_sentence(text)
    if (text ~ /^[.']/)
        text = "\\&" text
    print text
}

function by_sentence(text,    out) {
    out = ""
    while (match(text, /[A-Za-z0-9)][.] [A-Z0-9a-z]/)) {
        out = out substr(text, 1, RSTART + 1) "\n"
        text = substr(text, RSTART + 3)
    }
    return out text
}

function begin_item(flag, meta) {
    skipping = form == "keys" && flag ~ /^(config|print-config|version|help)$/
    if (skipping)
        return
    if (meta ~ /[.:]$/)
        meta = meta "\\&"
    if (form == "keys")
        print ".It Ic " flag " = Ar " (meta == "" ? "true|false" : meta)
    else
        print ".It Fl Fl " flag (meta == "" ? "" : " Ar " meta)
}

BEGIN {
    page = ARGV[1]
    ARGV[1] = ""
    while ((getline line < page) > 0 && line != "@SETTINGS@")
        print line
}
/^Options/ { inside = 1; next }
!inside { next }
/^  --/ { begin_item(substr($1, 3), $2); next }
/^      / && !skipping {
    sub(/^ +/, "")
    # The file has no use for the name of the variable.
    if (form == "keys")
        sub(/ Environment REMATD_[A-Z_]+\.$/, "")
    put($0)
}
END {
    if (!inside) {
        print "settings.awk: no list of options in the help" >"/dev/stderr"
        exit 1
    }
    while ((getline line < page) > 0)
        print line
}
