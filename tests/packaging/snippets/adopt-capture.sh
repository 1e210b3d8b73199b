mpicc writer.c -o writer
mkdir out
{
@SNIPPET@
} >said 2>&1 || { cat said; exit 1; }
for rank in 0 1 2 3; do
  grep -q "rank\.$rank$" said
  find back -name "rank.$rank" -exec cat {} + | grep -qx "task $rank"
done
grep -qx "task 0" said       # output of the captured program
test -z "$(ls out)"          # no file was created
sheaf verify out.sion
