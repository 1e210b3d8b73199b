// Serial open and close, positions and information for Fortran.
#include "api/fortran/fsion.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "sion.h"

using namespace sheaf::fortran;

namespace {

bool asks_to_write(std::string_view mode) {
  while (!mode.empty()) {
    const size_t end = std::min(mode.find(','), mode.size());
    std::string_view word = mode.substr(0, end);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find(' '));
    if (word == "w" || word == "wb" || word == "bw") return true;
    mode.remove_prefix(std::min(end + 1, mode.size()));
  }
  return false;
}

sion_int64 address(const void* pointer) {
  return static_cast<sion_int64>(reinterpret_cast<intptr_t>(pointer));
}

}  // namespace

// --- open, close ---

// When opening for reading, does not fill `chunksizes` and `globalranks`, because programs pass variables
// that are too small.
SHEAF_ROUTINE(fsion_open, const char* fname, const char* file_mode, int* ntasks, int* nfiles,
              sion_int64* chunksizes, int* fsblksize, int* globalranks, int* sid, int fname_length,
              int mode_length) {
  open(sid, [&] {
    std::string name = text(fname, fname_length);
    const std::string mode = text(file_mode, mode_length);
    const bool writes = asks_to_write(mode);
    IntegerArgument tasks(ntasks);
    IntegerArgument files(nfiles);
    return sion_open(name.data(), mode.c_str(), tasks.value(), files.value(), writes ? &chunksizes : nullptr,
                     fsblksize, writes ? &globalranks : nullptr, nullptr);
  });
}

SHEAF_FORTRAN void sheaf_private_fortran_open(const char* fname, const char* file_mode, int* ntasks,
                                              int* nfiles, const Descriptor* chunksizes, int* fsblksize,
                                              const Descriptor* globalranks, int* sid, int fname_length,
                                              int mode_length) {
  fsion_open_c_(fname, file_mode, ntasks, nfiles, chunksizes->as<sion_int64>(), fsblksize,
                globalranks->as<int>(), sid, fname_length, mode_length);
}

SHEAF_ROUTINE(fsion_open_rank, const char* fname, const char* file_mode, sion_int64* chunksize,
              int* fsblksize, int* rank, int* sid, int fname_length, int mode_length) {
  open(sid, [&] {
    std::string name = text(fname, fname_length);
    IntegerArgument task(rank);
    return sion_open_rank(name.data(), text(file_mode, mode_length).c_str(), chunksize, fsblksize,
                          task.value(), nullptr);
  });
}

SHEAF_CALL(close)

// --- positions ---

SHEAF_CALL(feof)

SHEAF_ROUTINE(fsion_seek, const int* sid, const int* rank, const int* currentblocknr,
              const sion_int64* posinblk, int* ierr) {
  *ierr = sion_seek(*sid, *rank, *currentblocknr, *posinblk);
}

SHEAF_ROUTINE(fsion_ensure_free_space, const int* sid, const sion_int64* bytes, int* ierr) {
  *ierr = sion_ensure_free_space(*sid, *bytes);
}

SHEAF_CALL(flush)

SHEAF_FUNCTION(bytes_avail_in_block)
SHEAF_FUNCTION(get_position)

// --- information ---

// The routines for chunk sizes, ranks and mappings set `ierr` only on failure, to -1.

SHEAF_ROUTINE(fsion_get_chunksizes, const int* sid, sion_int64* chunksizes, int* ierr) {
  Locations found;
  if (found.find(*sid) == SION_SUCCESS && found.chunksizes)
    std::copy_n(found.chunksizes, found.ntasks, chunksizes);
  else
    *ierr = -1;
}
SHEAF_FORTRAN void sheaf_fortran_get_chunksizes(const int* sid, const Descriptor* chunksizes, int* ierr) {
  fsion_get_chunksizes_c_(sid, chunksizes->as<sion_int64>(), ierr);
}

SHEAF_ROUTINE(fsion_get_globalranks, const int* sid, int* globalranks, int* ierr) {
  Locations found;
  if (found.find(*sid) == SION_SUCCESS && found.globalranks)
    std::transform(found.globalranks, found.globalranks + found.ntasks, globalranks,
                   [](sion_int64 rank) { return static_cast<int>(rank); });
  else
    *ierr = -1;
}
SHEAF_FORTRAN void sheaf_fortran_get_globalranks(const int* sid, const Descriptor* globalranks, int* ierr) {
  fsion_get_globalranks_c_(sid, globalranks->as<int>(), ierr);
}

SHEAF_ROUTINE(fsion_get_mapping_spec, const int* sid, int* mapping_size, int* numfiles, int* ierr) {
  sion_int32* mapping = nullptr;
  if (sion_get_mapping(*sid, mapping_size, &mapping, numfiles) != SION_SUCCESS) *ierr = -1;
}

SHEAF_ROUTINE(fsion_get_mapping, const int* sid, sion_int32* mapping, int* ierr) {
  int size = -1;
  int numfiles = 0;
  sion_int32* found = nullptr;
  if (sion_get_mapping(*sid, &size, &found, &numfiles) == SION_SUCCESS && size >= 0 && found)
    std::copy_n(found, 2 * static_cast<size_t>(size), mapping);
  else
    *ierr = -1;
}
SHEAF_FORTRAN void sheaf_fortran_get_mapping(const int* sid, const Descriptor* mapping, int* ierr) {
  fsion_get_mapping_c_(sid, mapping->as<sion_int32>(), ierr);
}

// Returns the addresses of the arrays as integers.
SHEAF_ROUTINE(fsion_get_locations, const int* sid, int* ntasks, int* maxblocks, sion_int64* globalskip,
              sion_int64* start_of_varheader, sion_int64* sion_localsizes, sion_int64* sion_globalranks,
              sion_int64* sion_chunkcount, sion_int64* sion_chunksizes, int* ierr) {
  Locations found;
  *ierr = found.find(*sid);
  if (*ierr != SION_SUCCESS) return;
  *ntasks = found.ntasks;
  *maxblocks = found.maxblocks;
  *globalskip = found.globalskip;
  *start_of_varheader = found.start_of_varheader;
  *sion_localsizes = address(found.chunksizes);
  *sion_globalranks = address(found.globalranks);
  *sion_chunkcount = address(found.blockcount);
  *sion_chunksizes = address(found.blocksizes);
}

SHEAF_ROUTINE(fsion_get_current_locations, const int* sid, int* ntasks, sion_int64* sion_currentpos,
              sion_int64* sion_currentblocknr, int* ierr) {
  sion_int64* positions = nullptr;
  sion_int64* blocks = nullptr;
  *ierr = sion_get_current_locations(*sid, ntasks, &positions, &blocks);
  if (*ierr != SION_SUCCESS) return;
  *sion_currentpos = address(positions);
  *sion_currentblocknr = address(blocks);
}

// Returns the file descriptor, despite the name. A stream through the library has no descriptor; sion_get_fd
// then reports the reason.
SHEAF_ROUTINE(fsion_get_fileno, const int* sid, int* filenumber) {
  FILE* stream = sion_get_fp(*sid);
  *filenumber = stream ? fileno(stream) : -1;
  if (*filenumber < 0) *filenumber = sion_get_fd(*sid);
}

// --- byte order ---

// The two routines that return a byte order are also available with the spelling "endianess".

SHEAF_CALL(get_file_endianness)
SHEAF_ALIAS(fsion_get_file_endianess_c_, fsion_get_file_endianness_c_);
SHEAF_ALIAS(fsion_get_file_endianess_, fsion_get_file_endianness_c_);

SHEAF_ROUTINE(fsion_get_endianness, int* endianness) { *endianness = sion_get_endianness(); }
SHEAF_ALIAS(fsion_get_endianess_c_, fsion_get_endianness_c_);
SHEAF_ALIAS(fsion_get_endianess_, fsion_get_endianness_c_);

SHEAF_CALL(endianness_swap_needed)
