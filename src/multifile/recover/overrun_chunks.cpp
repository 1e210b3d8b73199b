// Repair of complete files in which tasks wrote beyond their chunks (docs/format.md, section 9).
#include "base/checked.hpp"
#include "multifile/recover/unclosed_file.hpp"

namespace sheaf::multifile {

bool UnclosedFile::overrun_chunks(BlockSlice& slice) {
  std::vector<int64_t> chunks(slice.counts.size());
  reader_.read_chunk_sizes(slice.first, chunks);
  for (int64_t k = 0; k < slice.rounds; ++k)
    for (size_t t = 0; t < chunks.size(); ++t)
      if (slice.bytes(t, k) > chunks[t]) return true;
  return false;
}

// Reports the bytes that tasks of a complete file wrote beyond their chunks; readers leave these bytes out.
// Also marks the file as guessed, because it is not known which task wrote the bytes there last.
void UnclosedFile::leave_out_overruns() {
  const auto& cut = reader_.find_overruns(pointer_);
  if (cut.empty()) return;
  int64_t bytes = 0;
  for (const layout::CutBlock& block : cut) bytes = saturated_add(bytes, block.stored - block.own);
  report_.data_bytes -= bytes;
  report_.guessed = true;
  report_.guessed_ends = std::ssize(cut);
  report_.unknown.push_back(
      "what " + std::to_string(bytes) + " bytes were, the first ones of local task " +
      std::to_string(cut.front().entry % report_.ntasks) +
      ": the task wrote them beyond its chunk, where other data or tables lie, which it "
      "may have overwritten");
}

}  // namespace sheaf::multifile
