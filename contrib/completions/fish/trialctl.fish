# SPDX-License-Identifier: MIT
#
# Completion of trialctl for fish. Commands, options and their values come from the program itself
# (`trialctl help --options`), so they are those of the version that is installed.

# The command of the line, if there is one yet.
function __trialctl_command
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if test "$word" = --socket
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

function __trialctl_is
    test "$(__trialctl_command)" = $argv[1]
end

function __trialctl_ids
    trialctl list --limit 100 2>/dev/null | awk 'NR > 1 { print $1 }'
end

complete -c trialctl -f
for line in (trialctl help --options 2>/dev/null)
    set -l field (string split \t -- $line)
    if test "$field[2]" = -
        complete -c trialctl -n 'not __trialctl_command >/dev/null' -a $field[1] -d $field[7]
        switch $field[5]
            case id ids
                complete -c trialctl -n "__trialctl_is $field[1]" -a '(__trialctl_ids)'
            case verb
                complete -c trialctl -n "__trialctl_is $field[1]" -a "(trialctl help --options | awk -F '\t' '\$2 == \"-\" { print \$1 }')"
            case command
                complete -c trialctl -n "__trialctl_is $field[1]" -F
        end
        continue
    end
    set -l option -l (string sub -s 3 -- $field[2]) -d $field[7]
    test "$field[3]" = -; or set -a option -s (string sub -s 2 -- $field[3])
    test "$field[1]" = -; or set -a option -n "__trialctl_is $field[1]"
    switch $field[5]
        case words
            set -a option -x -a $field[6]
        case folder
            set -a option -x -a '(__fish_complete_directories)'
        case file
            set -a option -r -F
        case '*'
            test "$field[4]" = -; or set -a option -x
    end
    complete -c trialctl $option
end
