# Completion of rematd and remat for bash. Flags, commands and what a flag takes
# come from the program's own --help, so there is no second list of them.

# The flags that PROGRAM --help lists.
_remat_flags() {
    "$1" --help 2>/dev/null | sed -n 's/^  \(--[a-z][a-z-]*\).*/\1/p'
}

# What FLAG takes, in the words of PROGRAM --help: FILE, BYTES, json|text.
_remat_takes() {
    "$1" --help 2>/dev/null |
        sed -n 's/^  '"$2"' \([^ ][^ ]*\).*/\1/p'
}

_remat_reply() {
    mapfile -t COMPREPLY < <(compgen "$@")
}

# The value of a flag; false if it takes none.
_remat_value() {
    local takes
    takes=$(_remat_takes "$1" "$2")
    [ -n "$takes" ] || return 1
    case $takes in
    FILE)
        compopt -o filenames
        _remat_reply -f -- "$3"
        ;;
    DIR*)
        compopt -o filenames
        _remat_reply -d -- "$3"
        ;;
    *[!a-z\|-]*) COMPREPLY=() ;;
    *) _remat_reply -W "${takes//|/$'\n'}" -- "$3" ;;
    esac
}

# The command of a remat line, if one is written already.
_remat_command() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) ;;
        *)
            printf '%s' "${COMP_WORDS[i]}"
            return
            ;;
        esac
    done
}

_remat() {
    local program=${1/#\~/$HOME} current=$2 previous=$3 command
    # "--flag=value" comes as three words.
    if [ "$current" = = ]; then
        current=
        previous=${COMP_WORDS[COMP_CWORD - 1]}
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $previous in
    --*) _remat_value "$program" "$previous" "$current" && return ;;
    esac
    if [ "${program##*/}" = remat ]; then
        command=$(_remat_command)
        if [ -z "$command" ]; then
            _remat_reply -W "$("$program" --help 2>/dev/null |
                sed -n 's/^  remat \([a-z][a-z]*\).*/\1/p')
--help
--version" -- "$current"
            return
        fi
        case $command,$current in
        ping,* | *,[!-]* | *,)
            [ "$command" = ping ] && return
            compopt -o filenames
            _remat_reply -f -- "$current"
            return
            ;;
        esac
    fi
    _remat_reply -W "$(_remat_flags "$program")" -- "$current"
}

complete -F _remat rematd remat
