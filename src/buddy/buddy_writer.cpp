// Copies of closed physical files: the first tasks of the groups read, send and store.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/warnings.hpp"
#include "buddy/buddy.hpp"
#include "buddy/constants.hpp"
#include "comm/rounds.hpp"
#include "creation/new_file.hpp"
#include "exchange/pieces/extent.hpp"
#include "metadata/metadata_io.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

using exchange::Extent;
using layout::Placement;

std::string buddy_name(const std::string& base, int level) {
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, "_BUDDY_%02d", level);
  return base + suffix;
}

void write_copied_trailer(File& file, const format::Header& header, const format::Pointer& pointer,
                          const format::Extension& extension, std::span<const std::byte> sums,
                          int64_t entries) {
  const int64_t count = std::ssize(sums) / int64_t{sizeof(uint32_t)};
  const format::Trailer plan = plan_trailer(header, pointer, extension.identity, count, entries);
  TrailerWriter(file, header, plan, extension.piece).write_all(entries, {}, [&](TrailerWriter& trailer) {
    trailer.add_sums(sums);
  });
}

std::optional<Error> buddy::move_pieces(Comm& comm, int64_t steps, const Moved& from, const Moved& to) {
  std::vector<std::byte> out[2], in[2];
  std::optional<Error> unread;
  const auto prepare = [&](int64_t k) {
    exchange::Step step;
    if (k < std::ssize(from.pieces)) {
      const Extent& piece = from.pieces[static_cast<size_t>(k)];
      auto& memory = out[k % 2];
      memory.resize(static_cast<size_t>(piece.length));
      attempt(unread, [&] {
        if (from.file->read_at(memory, piece.offset) < memory.size())
          throw file_error(Code::damaged, from.file->path(), "has become shorter while it was copied");
      });
      if (is_zero(memory)) memory.clear();
      step.outgoing.push_back({from.peer, memory});
    }
    if (k < std::ssize(to.pieces)) {
      in[k % 2].resize(static_cast<size_t>(to.pieces[static_cast<size_t>(k)].length));
      step.incoming.push_back({to.peer, in[k % 2]});
    }
    return step;
  };
  const auto use = [&](int64_t k, const std::vector<int64_t>& received) {
    if (to.file && !received.empty() && received[0] > 0)
      to.file->write_at(std::span(in[k % 2]).first(static_cast<size_t>(received[0])),
                        to.pieces[static_cast<size_t>(k)].offset);
  };
  const auto unwritten = exchange::in_rounds(comm, steps, prepare, use);
  return unread ? unread : unwritten;
}

namespace {

// The metadata of a physical file; it travels as numbers.
struct Table {
  enum Fact : size_t {
    tasks,
    fsblksize,
    maxblocks,
    flag1,
    userdata,
    entries,
    piece,
    nsums,
    identity,
    identity_end = identity + 2,
    facts = identity_end
  };
  std::array<int64_t, facts> fact{};
  std::vector<int64_t> ranks, chunks, counts, sizes;  // sizes: round by round
  std::vector<int64_t> mapping;                       // pairs, of the first file only
  std::vector<int64_t> sums;                          // checksums of the data, two in a number

  // visit(vector, length) for all parts in the order of travel.
  template <class Visit>
  void for_each_part(Visit visit) {
    const auto n = static_cast<size_t>(fact[tasks]);
    for (auto* part : {&ranks, &chunks, &counts}) visit(*part, n);
    visit(sizes, n * static_cast<size_t>(fact[maxblocks]));
    visit(mapping, 2 * static_cast<size_t>(fact[entries]));
    visit(sums, (static_cast<size_t>(fact[nsums]) + 1) / 2);
  }
  std::vector<int64_t> flat() {
    std::vector<int64_t> numbers(fact.begin(), fact.end());
    for_each_part(
        [&](std::vector<int64_t>& part, size_t) { numbers.insert(numbers.end(), part.begin(), part.end()); });
    return numbers;
  }
  static Table of(std::span<const int64_t> numbers) {
    Table table;
    if (numbers.size() < facts) return table;
    std::copy_n(numbers.begin(), facts, table.fact.begin());
    numbers = numbers.subspan(facts);
    table.for_each_part([&](std::vector<int64_t>& part, size_t length) {
      part.assign(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(length));
      numbers = numbers.subspan(length);
    });
    return table;
  }

  // What is used of the data area, which begins at `offset`, in pieces that fit a message.
  std::vector<Extent> pieces(int64_t offset) const {
    std::vector<Extent> found;
    const auto n = static_cast<size_t>(fact[tasks]);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool used = static_cast<int64_t>(i / n) < counts[i % n];
      for (int64_t done = 0, all = used ? sizes[i] : 0; done < all;) {
        const bool joins = !found.empty() && found.back().end() == offset + done &&
                           found.back().length < buddy::message_bytes;
        if (!joins) found.push_back({offset + done, 0});
        const int64_t more = std::min(all - done, buddy::message_bytes - found.back().length);
        found.back().length += more;
        done += more;
      }
      offset += chunks[i % n];
    }
    return found;
  }
};

Table read_table(File& file) {
  MetadataReader reader(file);
  const format::Header& h = reader.header();
  const format::Pointer p = reader.read_pointer();
  Table table;
  table.fact = {h.ntasks, h.fsblksize, p.maxblocks, h.flag1, static_cast<int64_t>(h.userdata_order)};
  std::vector<uint32_t> sums;
  if (FileChecks* const checks = reader.checks(p)) {
    sums = checks->read_sums(0, h.ntasks);
    table.fact[Table::piece] = reader.extension()->piece;
    table.fact[Table::nsums] = std::ssize(sums);
    std::memcpy(&table.fact[Table::identity], reader.extension()->identity.data(), sizeof(format::Identity));
  }
  if (h.leads_set()) table.fact[Table::entries] = reader.read_mapping_size(p);
  table.for_each_part([](std::vector<int64_t>& part, size_t length) { part.resize(length); });
  if (!sums.empty()) std::memcpy(table.sums.data(), sums.data(), 4 * sums.size());
  reader.read_globalranks(0, table.ranks);
  reader.read_chunk_sizes(0, table.chunks);
  reader.read_block_counts(p, 0, table.counts);
  const auto n = static_cast<size_t>(h.ntasks);
  for (int64_t round = 0; round < p.maxblocks; ++round)
    reader.read_block_sizes(p, round, 0, std::span(table.sizes).subspan(static_cast<size_t>(round) * n, n));
  std::vector<Placement> entries(table.mapping.size() / 2);
  if (!entries.empty()) reader.read_mapping(p, 0, entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    table.mapping[2 * i] = entries[i].file;
    table.mapping[2 * i + 1] = entries[i].local_rank;
  }
  return table;
}

// Writes the metadata of a copy: first the dummies, tasks of the group `own` that stores it.
void write_table(File& file, const Table& table, const Table& own, int32_t nfiles, int32_t number,
                 const std::string& base, std::span<const int64_t> group_sizes, int shift) {
  const auto dummies = own.ranks.size();
  format::Header h{{.userdata_order = static_cast<ByteOrder>(table.fact[Table::userdata]),
                    .fsblksize = static_cast<int32_t>(table.fact[Table::fsblksize]),
                    .ntasks = static_cast<int32_t>(dummies + table.ranks.size()),
                    .nfiles = nfiles,
                    .filenumber = number,
                    .flag1 = table.fact[Table::flag1]}};
  h.set_name(base);
  std::vector<int64_t> ranks, chunks(dummies, 0), counts(dummies, 1);
  for (const int64_t rank : own.ranks) ranks.push_back(-(rank + 1));
  ranks.insert(ranks.end(), table.ranks.begin(), table.ranks.end());
  chunks.insert(chunks.end(), table.chunks.begin(), table.chunks.end());
  counts.insert(counts.end(), table.counts.begin(), table.counts.end());

  MetadataWriter writer(file, h);
  std::optional<format::Extension> extension;
  if (table.fact[Table::piece] > 0 && format::extensible(base)) {
    extension = {.flags = format::flag_checksums, .piece = static_cast<uint32_t>(table.fact[Table::piece])};
    std::memcpy(extension->identity.data(), &table.fact[Table::identity], sizeof(format::Identity));
  }
  writer.write_header(extension);
  writer.write_ranks_and_sizes(0, ranks, chunks);
  const int64_t maxblocks = std::max<int64_t>(1, table.fact[Table::maxblocks]);
  const layout::FileLayout layout = layout::lay_out(chunks, h.fsblksize);
  const format::Pointer p{static_cast<int32_t>(maxblocks), layout.data_start + maxblocks * layout.skip};
  const auto size_of = [&](size_t t, int64_t block) {
    return t < dummies ? 0 : table.sizes[static_cast<size_t>(block) * table.ranks.size() + t - dummies];
  };
  write_block_table(writer, p, 0, counts, size_of, 0);
  std::vector<Placement> entries;
  if (h.leads_set()) {
    for (size_t i = 0; i < table.mapping.size(); i += 2) {
      const auto of = table.mapping[i];
      const int64_t stored_by = ((of - shift) % nfiles + nfiles) % nfiles;
      entries.push_back(
          {static_cast<int32_t>(of),
           static_cast<int32_t>(table.mapping[i + 1] + group_sizes[static_cast<size_t>(stored_by)])});
    }
    writer.write_mapping_size(p, static_cast<int32_t>(entries.size()));
    writer.write_mapping(p, 0, entries);
  }
  if (extension) {
    const auto sums =
        std::as_bytes(std::span(table.sums)).first(4 * static_cast<size_t>(table.fact[Table::nsums]));
    write_copied_trailer(file, h, p, *extension, sums, h.leads_set() ? std::ssize(entries) : -1);
  }
  writer.write_pointer(p);
}

// One first task of a group.
class Copier {
 public:
  Copier(Store& store, Comm& roots, const std::string& path, const std::string& base)
      : store_(store), roots_(roots), base_(base) {
    const auto unread = attempt([&] {
      file_ = store.open(path, Access::read);
      own_ = read_table(*file_);
    });
    group_sizes_.resize(static_cast<size_t>(roots.size()));
    group_sizes_[static_cast<size_t>(roots.rank())] = own_.fact[Table::tasks];
    roots.all_sum(group_sizes_);
    agree(roots, unread);
  }

  // Collective over the roots. Sends the own file to the group that stores its copy `level`, and stores one.
  void copy(int level) {
    const int groups = roots_.size();
    const int shift = (level + 1) % groups;
    const int to = (roots_.rank() - shift + groups) % groups;
    const int from = (roots_.rank() + shift) % groups;
    const Table table = swap_tables(to, from);
    std::shared_ptr<File> target;  // null: this copy is not made
    agree(roots_, attempt([&] {
            target = open_copy(format::physical_name(buddy_name(base_, level), from));
            if (target) empty(*target);
          }));
    agree(roots_, swap_data(to, from, table, target.get()));
    agree(roots_, attempt([&] {
            if (!target) return;
            write_table(*target, table, own_, groups, from, base_, group_sizes_, level + 1);
            target->close();
          }));
  }

 private:
  Table swap_tables(int to, int from) {
    std::vector<int64_t> mine = own_.flat();
    int64_t length = std::ssize(mine);
    int64_t coming = 0;
    const auto bytes = [](auto& value) { return std::as_writable_bytes(std::span(&value, 1)); };
    roots_.exchange({{to, bytes(length)}}, {{from, bytes(coming)}})->finish();
    std::vector<int64_t> theirs(static_cast<size_t>(coming));
    roots_
        .exchange({{to, std::as_bytes(std::span(mine))}}, {{from, std::as_writable_bytes(std::span(theirs))}})
        ->finish();
    return Table::of(theirs);
  }

  std::shared_ptr<File> open_copy(const std::string& name) {
    try {
      return create_file(store_, name, name, Naming::placed).file;
    } catch (const Error& e) {
      if (e.code() != Code::foreign) throw;
      add_warning(std::string("a buddy copy is not made: ") + e.what());
      return nullptr;
    }
  }

  std::optional<Error> swap_data(int to, int from, const Table& table, File* target) {
    const int64_t source = layout::data_start(own_.fact[Table::tasks], own_.fact[Table::fsblksize]);
    const int64_t place =
        layout::data_start(own_.fact[Table::tasks] + table.fact[Table::tasks], table.fact[Table::fsblksize]);
    const std::vector<Extent> sent = own_.pieces(source), stored = table.pieces(place);
    int64_t steps = std::ssize(sent);
    roots_.all_max(std::span(&steps, 1));
    return buddy::move_pieces(roots_, steps, {file_.get(), to, sent}, {target, from, stored});
  }

  Store& store_;
  Comm& roots_;
  const std::string base_;
  std::shared_ptr<File> file_;
  Table own_;
  std::vector<int64_t> group_sizes_;
};

}  // namespace

void write_buddies(Store& store, Comm& all, Comm& local, const FileFacts& facts, const std::string& path,
                   const std::string& base, int levels) {
  const std::unique_ptr<Comm> roots = all.split(local.rank() == 0 ? 0 : -1, facts.filenumber);
  agree(all, attempt([&] {
          if (!roots) return;
          Copier copier(store, *roots, path, base);
          for (int level = 0; level < levels; ++level) copier.copy(level);
        }));
}

}  // namespace sheaf
