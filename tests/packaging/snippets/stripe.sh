mkdir -p net/n0 net/n1
head -c 13893 /dev/zero >plain
@SNIPPET@
