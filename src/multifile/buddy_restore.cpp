// Physical files whose group sees neither them nor a copy, made anew from a copy that another group sees.
#include <algorithm>
#include <vector>

#include "comm/agree.hpp"
#include "exchange/rounds.hpp"
#include "multifile/buddy.hpp"
#include "multifile/output_set.hpp"

namespace sheaf {

namespace {

constexpr int64_t piece_bytes = 1 << 20;

// One first task of a group, among those of all groups.
class Restorer {
 public:
  Restorer(Store& store, Comm& roots, std::string base, int levels)
      : store_(store), roots_(roots), base_(std::move(base)), levels_(levels) {}

  void restore() {
    const std::vector<int64_t> lacks = lacking();
    if (std::ranges::find(lacks, 1) == lacks.end()) return;
    const std::vector<int64_t> offers = offers_for(lacks);
    for (int file = 0; file < roots_.size(); ++file)
      if (lacks[static_cast<size_t>(file)] && offers[static_cast<size_t>(file)] > 0) move(file, offers[static_cast<size_t>(file)] - 1);
  }

 private:
  std::string name(int file) const { return format::physical_name(base_, file); }
  // Copy `level` of a file is with this group.
  int64_t storing(int64_t file, int64_t level) const {
    const int64_t groups = roots_.size();
    return ((file - level - 1) % groups + groups) % groups;
  }

  // By file: 1 if its group can read neither it nor a copy.
  std::vector<int64_t> lacking() {
    std::vector<int64_t> lacks(static_cast<size_t>(roots_.size()));
    BuddyStore copies(store_, base_, levels_);
    const auto failed = attempt([&] { copies.open(name(roots_.rank()), Access::read)->close(); });
    lacks[static_cast<size_t>(roots_.rank())] = failed.has_value();
    roots_.all_max(lacks);
    return lacks;
  }

  // By file: 1 + the last level of which the storing group has the copy; 0: none has one.
  std::vector<int64_t> offers_for(const std::vector<int64_t>& lacks) {
    std::vector<int64_t> offers(lacks.size());
    for (int level = 0; level < levels_; ++level) {
      const int64_t file = (roots_.rank() + level + 1) % roots_.size();
      int64_t& offer = offers[static_cast<size_t>(file)];
      if (lacks[static_cast<size_t>(file)] && !attempt([&] { open_buddy(store_, base_, level, name(static_cast<int>(file)))->close(); }))
        offer = std::max<int64_t>(offer, level + 1);
    }
    roots_.all_max(offers);
    return offers;
  }

  // Under another name until it is complete; nothing of it is left after a failure.
  void move(int file, int64_t level) {
    OutputSet output(store_, OutputSet::Existing::replace);
    const auto from = static_cast<int>(storing(file, level));
    const bool sends = roots_.rank() == from;
    const bool stores = roots_.rank() == file;
    std::shared_ptr<File> source, target;
    int64_t size = 0;
    auto problem = attempt([&] {
      if (sends) {
        source = open_buddy(store_, base_, static_cast<int>(level), name(file));
        size = source->status().size;
      }
      if (stores) target = output.add(name(file));
    });
    agree(roots_, problem, std::span(&size, 1));
    problem = transfer(source.get(), target.get(), from, file, size);
    const auto finished = attempt([&] {
      if (!stores || problem) return;
      target->resize(size);
      target->close();
      output.commit();
    });
    agree(roots_, problem ? problem : finished);
  }

  // Pieces without a byte other than 0 stay holes.
  std::optional<Error> transfer(File* source, File* target, int from, int to, int64_t size) {
    std::vector<std::byte> out[2], in[2];
    std::optional<Error> unread;
    const auto length = [&](int64_t k) { return static_cast<size_t>(std::min(piece_bytes, size - k * piece_bytes)); };
    const auto prepare = [&](int64_t k) {
      exchange::Step step;
      if (source) {
        auto& memory = out[k % 2];
        memory.resize(length(k));
        const auto failed = attempt([&] {
          if (source->read_at(memory, k * piece_bytes) < memory.size())
            throw file_error(Code::damaged, source->path(), "has become shorter while it was copied");
        });
        if (failed && !unread) unread = failed;
        if (std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{0}; })) memory.clear();
        step.outgoing.push_back({to, memory});
      }
      if (target) {
        in[k % 2].resize(length(k));
        step.incoming.push_back({from, in[k % 2]});
      }
      return step;
    };
    const auto use = [&](int64_t k, const std::vector<int64_t>& received) {
      if (target && received[0] > 0)
        target->write_at(std::span(in[k % 2]).first(static_cast<size_t>(received[0])), k * piece_bytes);
    };
    const auto unwritten = exchange::in_rounds(roots_, (size + piece_bytes - 1) / piece_bytes, prepare, use);
    // The one who stores must know before it gives the file its name.
    std::optional<Error> problem;
    const auto told = attempt([&] { agree(roots_, unread ? unread : unwritten); });
    if (told) problem = told;
    return problem;
  }

  Store& store_;
  Comm& roots_;
  const std::string base_;
  const int levels_;
};

}  // namespace

void restore_from_buddies(Store& store, Comm& all, Comm& local, const std::string& path, int levels) {
  const std::unique_ptr<Comm> roots = all.split(local.rank() == 0 ? 0 : -1, all.rank());
  std::optional<Error> problem;
  if (roots) problem = attempt([&] { Restorer(store, *roots, path, levels).restore(); });
  agree(all, problem);
}

}  // namespace sheaf
