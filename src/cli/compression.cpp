#include "cli/compression.hpp"

#include "codec/codec.hpp"

namespace sheaf::cli {

void add_compression(Json& json, const Multifile& m) {
  const auto& e = m.files.front().extension;
  if (!e || !m.compressed()) return;
  json["compression"] = {{"codec", std::string(codec::name_of(e->codec))},
                         {"level", static_cast<int>(e->level)},
                         {"shuffle", static_cast<int>(e->shuffle)},
                         {"frame", e->frame}};
}

}  // namespace sheaf::cli
