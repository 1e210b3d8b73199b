#!/bin/sh
# fuzz-corpus.sh [TARGET...]: adopts what the fuzzers have found. tests/fuzz/corpus/TARGET becomes a small set of
# inputs with the joint coverage of the old corpus and build-fuzz/learned. Inputs larger than 4 KiB are excluded.
set -eu
cd "$(dirname "$0")/.."
targets=${*:-header trailer mapping slots frames records words messages keyval streams journal}
build=build-fuzz
most=${FUZZ_MOST:-200}
for target in $targets; do
  case $target in metadata | readers | tools) seeds=files ;; *) seeds=$target ;; esac
  corpus=tests/fuzz/corpus/$seeds
  merged=$build/merged/$target
  rm -rf "$merged"
  mkdir -p "$merged" "$corpus"
  $build/fuzz_"$target" -set_cover_merge=1 -max_len=4096 -timeout=5 "$merged" "$corpus" $build/learned/"$target" >$build/merge.log 2>&1
  added=0
  for input in $(ls -S -r "$merged" | head -"$most"); do
    known=$(sha1sum <"$merged/$input" | cut -c1-16)
    if sha1sum "$corpus"/* 2>/dev/null | grep -q "^$known"; then continue; fi
    cp "$merged/$input" "$corpus/$known"
    added=$((added + 1))
  done
  printf '%-10s %4d inputs cover all, %d added to %s\n' "$target" "$(ls "$merged" | wc -l)" $added "$corpus"
done
