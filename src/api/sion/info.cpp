// Information calls on an open multifile, and byte order calls.
#include <algorithm>
#include <cstring>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "multifile/metadata/task_rows.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

template <class T>
void give(T* out, T value) {
  if (out) *out = value;
}

// Returns one value for each task of a serial handle.
template <class Value>
std::vector<long long> column(int ntasks, Value&& value) {
  std::vector<long long> values(static_cast<size_t>(ntasks));
  for (int t = 0; t < ntasks; ++t) values[static_cast<size_t>(t)] = value(t);
  return values;
}

// Fills the arrays of a file opened for reading. The arrays remain constant until the close.
void tabulate(SionHandle& handle, const Multifile& m) {
  Tables& tables = handle.tables;
  if (!tables.chunk_sizes.empty()) return;
  const int n = handle.ntasks();
  TaskRows rows(m);
  tables.chunk_sizes = column(n, [&](int t) { return rows.at(t).geometry.size; });
  tables.globalranks = column(n, [&](int t) { return rows.at(t).globalrank; });
  tables.block_counts = column(n, [&](int t) { return rows.at(t).sizes.count; });
  const auto blocks = static_cast<size_t>(m.maxblocks());
  tables.block_sizes.assign(static_cast<size_t>(n) * blocks, -1);
  if (const PhysicalFile& f = m.files.front(); !m.is_set() && !f.plain) {
    std::vector<int64_t> stored(static_cast<size_t>(n));
    for (size_t b = 0; b < blocks; ++b) {
      f.table->read_stored_sizes(static_cast<int64_t>(b), 0, stored);
      std::ranges::copy(stored, tables.block_sizes.begin() + static_cast<std::ptrdiff_t>(b * stored.size()));
    }
    return;
  }
  for (int t = 0; t < n; ++t) {
    const BlockSizes& sizes = rows.at(t).sizes;
    for (int64_t b = 0; b < sizes.count; ++b) tables.block_sizes[static_cast<size_t>(n * b + t)] = sizes[b];
  }
}

void tabulate(SionHandle& handle, Writer& writer) {
  Tables& tables = handle.tables;
  const int n = handle.ntasks();
  tables.chunk_sizes = column(n, [&](int t) { return writer.tasks()[static_cast<size_t>(t)].geometry.size; });
  tables.globalranks.assign(writer.globalranks()->begin(), writer.globalranks()->end());
  tables.block_counts = column(n, [&](int t) { return writer.blocks_of(t).count(); });
  const long long rounds =
      n == 0 ? 0 : *std::max_element(tables.block_counts.begin(), tables.block_counts.end());
  tables.block_sizes.assign(static_cast<size_t>(n * rounds), 0);
  for (int t = 0; t < n; ++t) {
    const TaskBlocks& blocks = writer.blocks_of(t);
    for (int64_t b = 0; b < blocks.count(); ++b)
      tables.block_sizes[static_cast<size_t>(n * b + t)] = blocks.size_of(b);
  }
}

// whole() returns the metadata of a multifile open for reading, lone_writer() the writer of one open for
// writing. Both return null unless this process has access to all tasks.
const Multifile* whole(SionHandle& handle) { return handle.reads ? handle.reads->whole() : nullptr; }
Writer* lone_writer(SionHandle& handle) {
  return handle.writes && handle.writes->globalranks() ? handle.writes.get() : nullptr;
}

}  // namespace

int sion_get_locations(int sid, int* ntasks, int* maxblocks, sion_int64* globalskip,
                       sion_int64* start_of_varheader, sion_int64** sion_chunksizes,
                       sion_int64** sion_globalranks, sion_int64** sion_blockcount,
                       sion_int64** sion_blocksizes) {
  return succeeds_on_handle("sion_get_locations", sid, [&](SionHandle& handle) {
    sion_int64 skip = -1;
    sion_int64 varheader = -1;
    int blocks = -1;
    const int n = handle.ntasks();
    if (const Multifile* const m = whole(handle)) {
      tabulate(handle, *m);
      const PhysicalFile& first = n > 0 ? m->file_of(0) : m->files.front();
      skip = first.skip();
      varheader = first.pointer.varheader;
      blocks = static_cast<int>(m->maxblocks());
    } else {
      if (Writer* const writer = lone_writer(handle)) tabulate(handle, *writer);
      skip = handle.geometry().skip;
    }
    const auto array = [](std::vector<long long>& values) {
      return values.empty() ? nullptr : values.data();
    };
    give(ntasks, n);
    give(maxblocks, blocks);
    give(globalskip, skip);
    give(start_of_varheader, varheader);
    give(sion_chunksizes, array(handle.tables.chunk_sizes));
    give(sion_globalranks, array(handle.tables.globalranks));
    give(sion_blockcount, array(handle.tables.block_counts));
    give(sion_blocksizes, array(handle.tables.block_sizes));
  });
}

int sion_get_current_location(int sid, int* currentblock, sion_int64* currentpos, int* maxchunks,
                              sion_int64** chunksizes) {
  return succeeds_on_handle("sion_get_current_location", sid, [&](SionHandle& handle) {
    if (handle.writer) handle.writer->flush();
    const auto [block, position] = handle.writer ? handle.writer->position() : handle.reader->position();
    const int64_t blocks = handle.writer ? handle.writer->blocks().count() : handle.reader->sizes().count;
    std::vector<long long>& sizes = handle.tables.current_sizes;
    sizes.clear();
    for (int64_t b = 0; b < blocks; ++b)
      sizes.push_back(handle.writer ? handle.writer->blocks().size_of(b) : handle.reader->sizes()[b]);
    give(currentblock, static_cast<int>(block));
    give(currentpos, static_cast<sion_int64>(position));
    give(maxchunks, static_cast<int>(sizes.size()));
    give(chunksizes, sizes.data());
  });
}

int sion_get_current_locations(int sid, int* ntasks, sion_int64** sion_currentpos,
                               sion_int64** sion_currentblocknr) {
  return succeeds_on_handle("sion_get_current_locations", sid, [&](SionHandle& handle) {
    const int n = handle.ntasks();
    Tables& tables = handle.tables;
    if (const Multifile* const m = whole(handle)) {
      tables.block_numbers = column(n, [&](int t) { return handle.reads->position_of(t).block; });
      TaskRows rows(*m);
      tables.positions = column(n, [&](int t) {
        const StreamPosition at = handle.reads->position_of(t);
        return rows.at(t).geometry.offset(at.block) + at.offset;
      });
    } else if (Writer* const writer = lone_writer(handle)) {
      writer->stream().flush();
      tables.block_numbers = column(n, [&](int t) { return writer->blocks_of(t).count() - 1; });
      tables.positions = column(n, [&](int t) {
        const TaskBlocks& blocks = writer->blocks_of(t);
        return writer->tasks()[static_cast<size_t>(t)].geometry.offset(blocks.count() - 1) + blocks.position;
      });
    } else {
      throw Error(Code::wrong_mode, "only handles of sion_open know where every task stands");
    }
    give(ntasks, n);
    give(sion_currentpos, tables.positions.data());
    give(sion_currentblocknr, tables.block_numbers.data());
  });
}

int sion_get_mapping(int sid, int* mapping_size, sion_int32** mapping, int* numfiles) {
  return succeeds_on_handle("sion_get_mapping", sid, [&](SionHandle& handle) {
    give(numfiles, static_cast<int>(handle.facts().nfiles));
    give(mapping_size, -1);
    std::vector<layout::Placement> places;
    if (const Multifile* const m = whole(handle); m && m->is_set()) {
      places.resize(static_cast<size_t>(m->ntasks()));
      m->read_places(0, places);
    }
    if (handle.opened.by == OpenedBy::mapped && handle.reads) places = handle.reads->read_mapping();
    if (places.empty()) return;
    std::vector<int>& pairs = handle.tables.mapping;
    pairs.clear();
    for (const layout::Placement& at : places) {
      pairs.push_back(at.file);
      pairs.push_back(at.local_rank);
    }
    give(mapping_size, static_cast<int>(pairs.size() / 2));
    give(mapping, pairs.data());
  });
}

int sion_get_number_of_files(int sid) {
  return on_handle("sion_get_number_of_files", sid, -1, [](SionHandle& h) { return int{h.facts().nfiles}; });
}

int sion_get_filenumber(int sid) {
  return on_handle("sion_get_filenumber", sid, -1, [](SionHandle& h) { return int{h.facts().filenumber}; });
}

int sion_is_serial_opened(int sid) {
  return on_handle("sion_is_serial_opened", sid, -1, [](SionHandle& h) { return int{h.is_serial()}; });
}

int sion_using_hints(int sid) {
  return on_handle("sion_using_hints", sid, -1, [](SionHandle& h) { return int{h.opened.hints}; });
}

int sion_get_sizeof(int sid, int* numbytes, int* numfds) {
  return on_handle("sion_get_sizeof", sid, -1, [&](SionHandle& h) {
    int64_t held = sizeof h;
    held += h.writes ? h.writes->bytes_held() + h.writer->buffer().capacity() : h.reads->bytes_held();
    give(numbytes, static_cast<int>(std::min<int64_t>(held, INT32_MAX)));
    give(numfds, h.writes ? h.writes->open_files() : h.reads->open_files());
    return 1;
  });
}

int sion_get_version(int* main_version, int* sub_version, int* patch_level, int* fileformat_version) {
  give(main_version, SION_MAIN_VERSION);
  give(sub_version, SION_SUB_VERSION);
  give(patch_level, SION_VERSION_PATCHLEVEL);
  give(fileformat_version, SION_FILEFORMAT_VERSION);
  return SION_SUCCESS;
}

int sion_is_thread_safe(void) { return 1; }

int sion_get_keyval_mode(int sid) {
  return on_handle("sion_get_keyval_mode", sid, SION_KEYVAL_UNKNOWN,
                   [](SionHandle& h) { return h.facts().keyval ? SION_KEYVAL_INLINE : SION_KEYVAL_NONE; });
}

char* sion_keyval_type_to_str(int type) {
  static char names[][24] = {"SION_KEYVAL_NONE", "SION_KEYVAL_INLINE", "SION_KEYVAL_META", "SION_KEYVAL_HASH",
                             "SION_KEYVAL_UNKNOWN"};
  static char other[] = "unknown";
  return type >= SION_KEYVAL_NONE && type <= SION_KEYVAL_UNKNOWN ? names[type - SION_KEYVAL_NONE] : other;
}

int sion_get_endianness(void) { return native_order == ByteOrder::big; }

int sion_get_file_endianness(int sid) {
  return on_handle("sion_get_file_endianness", sid, -1,
                   [](SionHandle& h) { return int{h.facts().userdata_order == ByteOrder::big}; });
}

int sion_endianness_swap_needed(int sid) {
  return on_handle("sion_endianness_swap_needed", sid, 1,
                   [](SionHandle& h) { return int{h.facts().userdata_order != native_order}; });
}

void sion_swap(void* target, void* source, int size, int n, int do_swap) {
  if (!target || !source || size <= 0 || n <= 0) return;
  const auto bytes = static_cast<size_t>(size);
  const auto items = static_cast<size_t>(n);
  if (target != source) std::memmove(target, source, bytes * items);
  if (!do_swap) return;
  auto* p = static_cast<unsigned char*>(target);
  for (size_t i = 0; i < items; ++i, p += bytes) std::reverse(p, p + bytes);
}
