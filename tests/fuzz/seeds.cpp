// sheaf_fuzz_seeds DIRECTORY [VECTORS]: writes the seeds of the fuzzers that read streams and files. It uses
// the library to create small inputs in DIRECTORY/files, /streams, /keyval and /words. With VECTORS, a
// directory of golden multifiles, it packs only these multifiles. Fuzzers of single structures need no seeds,
// because they find valid inputs in seconds.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/packed_files.hpp"
#include "support/keyval_model.hpp"
#include "support/magic.hpp"
#include "support/mapped.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::multifile;
using fuzz::Bytes;
namespace fs = std::filesystem;

void save(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw Error(Code::io, "cannot write '" + path.string() + "'");
}

Bytes text(uint8_t kind, std::string_view words) {
  Bytes bytes{static_cast<std::byte>(kind)};
  for (const char c : words) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

test::Program program(std::vector<int64_t> chunks, int32_t fsblksize, int32_t nfiles, int64_t bytes) {
  test::Program p;
  p.fsblksize = fsblksize;
  p.nfiles = nfiles;
  p.requests = std::move(chunks);
  for (size_t t = 0; t < p.requests.size(); ++t)
    p.steps.push_back({{test::Step::write, p.requests[t] > 0 ? bytes * static_cast<int64_t>(t % 3) : 0}});
  return p;
}

test::MappedProgram mapped_program() {
  test::MappedProgram m;
  m.program = program({20, 8, 30, 5}, 16, 3, 25);
  m.places = {{1, 0}, {0, 0}, {2, 0}, {1, 1}};
  m.owners = {0, 1, 1, 0};
  m.writers = 2;
  return m;
}

Bytes records(ByteOrder order) {
  Bytes bytes;
  const auto add = [&](uint64_t value) {
    std::byte stored[8];
    sheaf::store<uint64_t>(stored, value, order);
    bytes.insert(bytes.end(), stored, stored + 8);
  };
  for (const auto& [key, length] :
       {std::pair<uint64_t, uint64_t>{1, 5}, {7, 0}, {1, 20}, {~uint64_t{0}, 3}}) {
    add(key);
    add(length);
    bytes.resize(bytes.size() + length, std::byte{0x5a});
  }
  return bytes;
}

void write_keyval_file(Store& store) {
  const std::vector<int64_t> chunks{24, 40};
  const std::vector<int64_t> ranks{0, 1};
  Writer writer(store, {"m", chunks, ranks, 8}, test::mode_of("w,keyval=inline"));
  for (const int64_t t : {0, 1}) {
    writer.select(t);
    writer.stream().write(records(native_order));
  }
  writer.close();
}

// Converts the file to the older format `version`, which had unaligned sizes and no key-value flag.
void make_older(MemoryStore& store, int32_t version) {
  std::byte stored[4];
  sheaf::store<int32_t>(stored, version, native_order);
  store.open("m", Access::write)->write_at(stored, 16);
}

void save_files(const fs::path& directory, const std::string& name, const MemoryStore& store,
                uint8_t options = 0) {
  save(directory / "files" / name, fuzz::pack(fuzz::take_files(store, options)));
}

// Returns a physical file in which all tables except the block counts are in a hole, so a few bytes claim
// large tables. If `mapping_bytes` > 0, the hole also contains a mapping of that many bytes.
fuzz::PackedInputFile claims(format::Header h, const format::Pointer& p, std::span<const int64_t> counts,
                             int64_t mapping_bytes = 0) {
  fuzz::PackedInputFile f;
  h.fsblksize = 1;
  h.set_name("m");
  const auto append = [](Bytes& bytes, const auto& from) {
    const auto more = std::as_bytes(std::span(from));
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  auto head = format::encode(h);
  if (counts.empty()) format::put_extension({.flags = format::flag_journal}, head);
  append(f.head, head);
  if (!counts.empty()) {
    f.head.resize(f.head.size() + 16 * counts.size());  // global ranks and chunk sizes
    append(f.head, format::encode(p, native_order));
    append(f.head, counts);
  }
  f.tail = Bytes(8);
  f.tail_at = counts.empty() ? format::fixed_size + 16 * int64_t{h.ntasks}
                             : p.varheader + layout::meta2_size(h.ntasks, p.maxblocks) + 4 + mapping_bytes;
  if (mapping_bytes > 0) {  // a mapping in a hole, except its last two entries
    f.head.resize(static_cast<size_t>(p.varheader + layout::meta2_size(h.ntasks, p.maxblocks)));
    append(f.head, std::array{static_cast<int32_t>(mapping_bytes / 8 + 1)});
  }
  return f;
}

void save_claims(const fs::path& to) {
  const auto one = [&](const std::string& name, std::vector<fuzz::PackedInputFile> files) {
    fuzz::PackedFiles packed;
    packed.files = std::move(files);
    save(to / "files" / name, fuzz::pack(packed));
  };
  const auto header = [](int32_t ntasks, int32_t nfiles = 1, int32_t number = 0) {
    format::Header h;
    h.ntasks = ntasks;
    h.nfiles = nfiles;
    h.filenumber = number;
    return h;
  };
  const auto pointer = [](int64_t ntasks, int32_t blocks) {
    return format::Pointer{blocks, layout::data_start(ntasks, 1)};
  };
  const std::vector<int64_t> ones{1, 1, 1};
  one("claims-tasks", {claims(header(400'000), {}, {})});
  one("claims-rounds", {claims(header(3), pointer(3, 300'000), ones)});
  one("claims-blocks", {claims(header(3), pointer(3, 300'000), std::vector<int64_t>{1, 300'000, 200'000})});
  one("claims-mapping",
      {claims(header(3, 2), pointer(3, 1), ones, 7 << 20), claims(header(3, 2, 1), pointer(3, 1), ones)});
}

void write_own(const fs::path& to) {
  save_claims(to);
  const auto one = [&](const std::string& name, const test::Program& p, uint8_t options,
                       const std::string& words = "w") {
    MemoryStore serial, parallel;
    if (p.nfiles == 1) {
      test::write_serially(serial, "m", p);
      save_files(to, name + "-serial", serial, options);
    }
    test::write_in_parallel(parallel, "m", p, 0, words);
    save_files(to, name + "-parallel", parallel, static_cast<uint8_t>(options + 1));
  };
  one("one-task", program({30}, 16, 1, 20), 0);
  one("blocks", program({16, 5, 33}, 16, 1, 50), 4);
  one("unaligned", program({1, 0, 7, 3}, 1, 1, 10), 8);
  one("large-blocks", program({100, 600}, 4096, 1, 5000), 3);
  one("two-files", program({16, 5, 33, 1, 9}, 8, 2, 40), 2);
  one("four-files", program({16, 5, 33, 1}, 8, 4, 20), 18);
  one("no-data", program({16, 16}, 16, 1, 0), 0);
  one("collective", program({16, 5, 33, 1}, 16, 1, 20), 34, "w,collective,collsize=2");
  {
    MemoryStore store;
    test::write_mapped(store, "m", mapped_program());
    save_files(to, "mapped", store, 33);
  }
  MemoryStore keyval;
  write_keyval_file(keyval);
  save_files(to, "keyval", keyval, 1);
  for (const int32_t version : {2, 3, 4}) {
    MemoryStore store;
    test::write_serially(store, "m", program({16, 32, 48}, 16, 1, 20));
    make_older(store, version);
    save_files(to, "version-" + std::to_string(version), store);
  }
  one("compressed", program({16, 5, 330}, 16, 1, 200), 1, "w,compress=zstd,shuffle=4,frame=1k");
  MemoryStore compressed;
  test::write_serially(compressed, "m", program({16, 5, 330}, 16, 1, 200), 0,
                       "w,compress=lz4,shuffle=4,frame=1k");
  test::give_plain_magic(compressed, "m");
  save_files(to, "compressed-plain-magic", compressed, 1);
  MemoryStore unclosed;
  test::write_serially(unclosed, "m", program({16, 32}, 16, 1, 20));
  unclosed.open("m", Access::write)->resize(format::fixed_size + 32);
  save_files(to, "unclosed", unclosed);

  save(to / "words" / "mode", text(0, "wb,posix,files=auto,buffer=64k,endianness=big|durable"));
  save(to / "words" / "mode-collective", text(0, "w,collective,collsize=-1,keyval=inline,strict|io-tasks=2"));
  save(to / "words" / "mode-compressed",
       text(0, "w,compress=zstd:3,shuffle=8,frame=64k,journal=off,checksums=off|atomic"));
  save(to / "words" / "table", text(37, " 0 0 1\n1 # comment\n2 2\n"));
  save(
      to / "words" / "hints",
      text(2,
           "cb_nodes|4;cb_buffer_size|65536;romio_cb_write|enable;romio_ds_read|disable;striping_unit|4096"));
  save(to / "words" / "hosts", text(3, "n1:2,n2.cluster,*:*|n2"));
  save(to / "words" / "stripes", text(4, "sfio:unit=4096;h1,/a/b;h2,/c;.000001"));
  save(to / "words" / "name", text(5, "data/result.sion"));

  for (const std::string codec : {"zstd", "lz4", "gzip"}) {
    const std::string words = "w,frame=1k,compress=" + codec + (codec == "lz4" ? ",shuffle=8" : ":3");
    MemoryStore frames;
    const int64_t chunk = 5000;
    const int64_t rank = 0;
    Writer writer(frames, {"m", std::span(&chunk, 1), std::span(&rank, 1), 16}, test::mode_of(words));
    writer.stream().write(test::content(0, 0, 7000));
    writer.close();
    const Multifile m = load_multifile(frames, "m");
    Bytes input(1 + static_cast<size_t>(m.row(0).sizes.total()));
    m.files.front().file->read_at(std::span(input).subspan(1), m.row(0).geometry.start);
    save(to / "streams" / codec, input);
  }
  save(to / "streams" / "recipe",
       text(6, std::string_view("\0\0\0\x18\0\0\0\x05\0\0\0\0hello\0\0\0\x18\0\0\0\x03\x10\0\0\0abc", 32)));

  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    Bytes input{std::byte{15}, static_cast<std::byte>(order == ByteOrder::big ? 10 : 3), std::byte{1},
                std::byte{2}};
    const Bytes stream = records(order);
    input.insert(input.end(), stream.begin(), stream.end());
    const std::string name = order == ByteOrder::big ? "big" : "little";
    save(to / "keyval" / name, input);
    input.erase(input.end() - 2, input.end());
    save(to / "keyval" / (name + "-cut"), input);
  }
}

// Packs every golden multifile, with up to four of its physical files.
void pack_vectors(const fs::path& to, const fs::path& vectors) {
  for (const auto& entry : fs::recursive_directory_iterator(vectors)) {
    if (entry.path().extension() != ".sion") continue;
    fuzz::PackedFiles packed;
    for (int k = 0; k < 4; ++k) {
      const std::string name = format::physical_name(entry.path().string(), k);
      if (!fs::exists(name)) break;
      std::ifstream in(name, std::ios::binary);
      const std::string contents((std::istreambuf_iterator<char>(in)), {});
      const auto all = std::as_bytes(std::span(contents));
      packed.files.push_back(fuzz::with_hole({all.begin(), all.end()}));
    }
    save(to / "files" / entry.path().filename(), fuzz::pack(packed));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s DIRECTORY [VECTORS]\n", argv[0]);
    return 2;
  }
  try {
    argc == 3 ? pack_vectors(argv[1], argv[2]) : write_own(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
