#include "multifile/tools/defaults.hpp"

#include "multifile/create/new_file.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile {

std::vector<Default> defaults() {
  const OpenMode mode;
  constexpr int many = 1 << 20;
  const auto kib = [](int64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  return {
      {"stream buffer", kib(mode.buffer_bytes) + " per task that reads or writes, grown as needed",
       "open mode: buffer=BYTES"},
      {"unbuffered transfers", "requests of " + kib(WriteStream::direct_bytes) + " and more", ""},
      {"block size",
       "st_blksize of the new file; " + kib(fallback_block_size) + " if that is not in 1.." +
           kib(largest_block_size),
       "argument fsblksize of the open calls"},
      {"physical files", "as the arguments of the open call say", "open mode: files=auto|node|ion|@TABLE|N"},
      {"writers at once on a node", "all tasks", "open mode: iotasks=K"},
      {"collective writing and reading", mode.collective.wanted ? "yes" : "no",
       "open mode: collective, collsize=N, collective=auto|off|N, collectors=N"},
      {"leaders of a physical file",
       "one per " + std::to_string(metadata_writer_group(1024)) + " tasks, at most " +
           std::to_string(many / metadata_writer_group(many)),
       ""},
      {"compression", mode.compression.on() ? std::string(codec::name_of(mode.compression.codec)) : "none",
       "open mode: compress=zstd[:LEVEL]|gzip[:LEVEL]|lz4, shuffle=BYTES, frame=BYTES (" +
           kib(mode.compression.frame) + "), compress_threads=auto|N"},
      {"byte order of user data", native_order == ByteOrder::big ? "big" : "little",
       "open mode: endianness=big|little"},
      {"key-value records", "none", "open mode: keyval=inline"},
      {"journal", mode.journal ? "yes, from the first flush or completed chunk on" : "no",
       "open mode: journal=on|off"},
      {"checksums", mode.checksums ? "yes, of every 64 KiB of data and of the metadata" : "no",
       "open mode: checksums=on|off"},
      {"atomic", mode.atomic ? "yes" : "no", "open mode: atomic"},
      {"durable", mode.durable ? "yes" : "no", "open mode: durable"},
      {"unknown words of the open mode", mode.strict ? "an error" : "reported and ignored",
       "open mode: strict"},
  };
}

}  // namespace sheaf::multifile
