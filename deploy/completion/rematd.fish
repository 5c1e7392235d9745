# Completion of rematd and remat for fish. Flags, commands and what a flag takes
# come from the program's own --help, so there is no second list of them.

for program in rematd remat
    command -q $program; or continue
    complete -c $program -e
    test $program = rematd; and complete -c $program -f
    for line in (command $program --help)
        if set -l found (string match -r '^  --([a-z][a-z-]+)(?: ([^ ]+))?(?:  |$)' -- $line)
            switch "$found[3]"
                case ''
                    complete -c $program -l $found[2]
                case FILE
                    complete -c $program -l $found[2] -r -F
                case 'DIR*'
                    complete -c $program -l $found[2] -x -a '(__fish_complete_directories)'
                case '*'
                    set -l words
                    string match -qr '^[a-z|-]+$' -- $found[3]
                    and set words (string replace -a '|' ' ' -- $found[3])
                    complete -c $program -l $found[2] -x -a "$words"
            end
        else if set -l found (string match -r '^  remat ([a-z]+)' -- $line)
            complete -c remat -n __fish_use_subcommand -f -a $found[2]
        end
    end
end
complete -c remat -n __fish_use_subcommand -l help
complete -c remat -n __fish_use_subcommand -l version
