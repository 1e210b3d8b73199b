#include "cli/compression.hpp"

#include "cli/command_line/command_line.hpp"
#include "format/codec/codec.hpp"
#include "multifile/options/open_mode.hpp"

namespace sheaf::cli {

void add_compression(Json& json, const multifile::Multifile& m) {
  const auto& e = m.files.front().extension;
  if (!e || !m.compressed()) return;
  json["compression"] = {{"codec", std::string(codec::name_of(e->codec))},
                         {"level", static_cast<int>(e->level)},
                         {"shuffle", static_cast<int>(e->shuffle)},
                         {"frame", e->frame}};
}

codec::Compression compression_of(const CompressionOptions& options) {
  std::string words = "w";
  const auto add = [&](const char* word, const std::string& value) {
    if (value.find_first_of(", ") != std::string::npos)
      throw UsageError(std::string("--") + word, "'" + value + "' is more than one value");
    if (!value.empty()) words += std::string(",") + word + "=" + value;
  };
  add("compress", options.method);
  add("shuffle", options.shuffle);
  add("frame", options.frame);
  try {
    const codec::Compression how = multifile::parse_open_mode(words).compression;
    if (how.on()) return how;
  } catch (const Error& error) {
    throw UsageError("", error.what());
  }
  throw UsageError("--compress", "'" + options.method + "' is no compression; use --decompress");
}

}  // namespace sheaf::cli
