#include "multifile/writer/writer.hpp"

#include <utility>

#include "base/assert.hpp"
#include "multifile/writer/parallel_layout.hpp"

namespace sheaf::multifile {

void Writer::resize_chunks(int64_t chunk_size) {
  if (set_.placed)
    throw Error(Code::wrong_mode,
                "'" + set_.path + "': only a multifile opened in parallel for writing can be laid out anew");
  lay_out_again(set_, chunk_size);
  enter(0);
}

void Writer::capture_frames(FrameCapture capture) {
  if (!set_.compressed) return;
  const bool is_alone = set_.placed && set_.placed->globalranks && set_.facts.nfiles == 1;
  const bool is_of_host = !set_.placed && !set_.collecting && set_.hosts.count == 1;
  int64_t unfit = !is_alone && !is_of_host;
  set_.comm->all_max(std::span(&unfit, 1));
  if (!unfit) set_.compressed->capture(std::move(capture));
}

void Writer::write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine) {
  SHEAF_ASSERT(collective());
  if (!set_.compressed) return collective()->write(data, mine);
  // Collectors receive the stored bytes. A frame may contain bytes of several calls, and is stored by the
  // call that ends it.
  WriteStream& plain = stream();
  std::optional<WriteStream::Mark> before;
  std::optional<Error> problem = mine;
  if (!problem)
    problem = attempt([&] {
      before = plain.mark();
      plain.write(data);
    });
  try {
    collective()->write({}, problem);
  } catch (...) {
    if (before && !problem) plain.return_to(*before);
    throw;
  }
}

}  // namespace sheaf::multifile
