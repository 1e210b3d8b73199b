#!/bin/sh
# Makes one static archive for programs of several MPIs:
#
#   mpi_dispatch.sh OUT.a WORKDIR openmpi:OBJECT,OBJECT,... mpich:OBJECT,OBJECT,...
#
# `openmpi` and `mpich` denote binary interfaces, whichever MPIs the objects were compiled with. The MPIs
# differ in their ABI, but build systems link a single -lsionmpi_64. The archive therefore contains the objects
# for both. In each variant, the C names of the interface get a prefix (sion_paropen_mpi becomes
# sheaf_openmpi_sion_paropen_mpi), and all other names become local. Under each C name, the archive contains a
# jump to one of the variants, selected at run time: the symbol ompi_mpi_comm_world exists only in Open MPI.
# References to functions of one MPI alone become weak, so that they may remain undefined in programs of the
# other MPI. References to OpenMP become weak for programs without it.
set -eu
out=$1 work=$2
shift 2
mkdir -p "$work"
rm -f "$out"

objects_of() { echo "${1#*:}" | tr ',' ' '; }

members=""
for variant; do
  mpi=${variant%%:*}
  # Dissolves the section groups of inline functions, which the linker would merge with those of the other variant.
  ld -r --force-group-allocation -o "$work/$mpi.o" $(objects_of "$variant")
  nm -g --defined-only "$work/$mpi.o" | awk '$2 == "T" && $3 !~ /^_Z/ { print $3 }' | sort -u >"$work/$mpi.names"
  awk -v mpi="$mpi" '{ print $1, "sheaf_" mpi "_" $1 }' "$work/$mpi.names" >"$work/$mpi.renames"
  nm -u "$work/$mpi.o" | awk '$2 ~ /^(omp|GOMP|__kmpc)_/ { print $2 }' >"$work/$mpi.openmp"
  nm -u "$work/$mpi.o" | awk '$2 ~ /^(P?MPI|ompi)[A-Z]*_/ { print $2 }' | sort -u >"$work/$mpi.uses"
  objcopy --keep-global-symbols="$work/$mpi.names" "$work/$mpi.o"
  objcopy --redefine-syms="$work/$mpi.renames" "$work/$mpi.o"
  members="$members $work/$mpi.o"
done
cmp -s "$work/openmpi.names" "$work/mpich.names" || { echo "mpi_dispatch.sh: the MPIs offer different calls" >&2; exit 1; }

comm -23 "$work/openmpi.uses" "$work/mpich.uses" >"$work/openmpi.own"
comm -13 "$work/openmpi.uses" "$work/mpich.uses" >"$work/mpich.own"
for mpi in openmpi mpich; do
  cat "$work/$mpi.openmp" >>"$work/$mpi.own"
  [ ! -s "$work/$mpi.own" ] || objcopy --weaken-symbols="$work/$mpi.own" "$work/$mpi.o"
done

case $(uname -m) in
x86_64) jump='cmpq $0, ompi_mpi_comm_world@GOTPCREL(%%rip)
  jne sheaf_openmpi_NAME@PLT
  jmp sheaf_mpich_NAME@PLT' ;;
aarch64) jump='adrp x16, :got:ompi_mpi_comm_world
  ldr x16, [x16, :got_lo12:ompi_mpi_comm_world]
  cbz x16, 1f
  b sheaf_openmpi_NAME
1:b sheaf_mpich_NAME' ;;
*) echo "mpi_dispatch.sh: no jump for $(uname -m)" >&2; exit 1 ;;
esac
{
  printf '.weak ompi_mpi_comm_world\n.section .note.GNU-stack,"",%%progbits\n.text\n'
  while read -r name; do
    printf ".globl $name\n.type $name, %%function\n$name:\n  $(echo "$jump" | sed "s/NAME/$name/")\n.size $name, .-$name\n"
  done <"$work/openmpi.names"
} >"$work/jumps.s"
as -o "$work/jumps.o" "$work/jumps.s"
ar qcs "$out" "$work/jumps.o" $members
# Removes names that are needed only within an object, a tenth of its size.
strip --strip-unneeded "$out"
