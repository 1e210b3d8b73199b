{
@SNIPPET@
} >said
grep -q '"file_system"' said
test "$(grep -c '^coherence  *coherent$' said)" = 1
test "$(grep -c '^coherence  *local$' said)" = 1
