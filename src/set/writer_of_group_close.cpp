// The close of a multifile written in parallel.
#include <algorithm>

#include "buddy/buddy.hpp"
#include "layout/placement.hpp"
#include "metadata/leaders.hpp"
#include "set/writer.hpp"
#include "stream/file_checks.hpp"
#include "stream/overruns.hpp"

namespace sheaf {

// Order on disk, in every file: data, then block table and mapping, then the pointer that makes it complete;
// and file 0, which everyone reads first, is completed when all others are. A file with one leader needs no
// meeting of its own: its leader sees from the rows that every task's bytes are there.
void Writer::finish_group(std::vector<std::byte>& row) {
  const int buddies = collecting_ ? collecting_->buddies : 0;
  const std::string base = buddies > 0 ? path_ : std::string();
  auto problem = compressed_ ? attempt([&] { compressed_->finish(); }) : std::nullopt;
  const auto unsent = collective() ? collective()->finish() : std::nullopt;
  if (!problem) problem = unsent;
  if (collecting_) collecting_->writer.reset();
  TaskBlocks blocks;
  std::vector<uint32_t> sums;
  const auto unfinished = problem ? problem : attempt([&] { sums = finish_stream(blocks); });
  problem = has_edges() ? bring_group_edges_home(blocks, unfinished) : unfinished;
  Leaders leaders(local(), edges() != nullptr);
  if (!unfinished) {
    const int64_t most = most_sums_in_row(static_cast<int64_t>(leaders.count()));
    const auto no_row = attempt([&] { row = row_of(blocks, sums, most); });
    if (!problem) problem = no_row;
  }
  Table table = collect_table(leaders, problem ? std::span<const std::byte>() : row);
  const bool lead = facts_.filenumber == 0;
  const bool first = local().rank() == 0;
  const bool early = table.leaders == 1 && !lead && !table.sums_follow;
  const auto step = [&](bool applies, auto&& act) {
    if (applies && !problem) problem = attempt(act);
  };
  step(table.sound && table.is_leader, [&] { place_table(table); });
  step(table.sound && table.is_leader && !table.sums_follow, [&] {
    SumRounds none;
    write_table(table, sums_of(table), none);
  });
  step(table.sound && first && early, [&] { complete(table.pointer); });
  // What the operating system says late, at the close, must be known before file 0 is called complete.
  step(!first && !gathers_mapping() && !table.sums_follow, [&] { file().close(); });

  // Everybody learns whether files other than 0 are still to be completed, who completes file 0 and where it
  // keeps the mapping, whether a program wrote behind a chunk itself, and whether checksums follow.
  int64_t values[8] = {!early && !lead, -1, 0, 0, 0, 0, !blocks.overruns().empty(), table.sums_follow};
  if (lead && first) {
    values[1] = comm_->rank();
    values[2] = table.pointer.varheader;
    values[3] = table.pointer.maxblocks;
    values[4] = local().size();
    values[5] = table.sums;
  }
  agree(*comm_, problem, values);
  if (values[7]) {
    const auto own =
        RowView(row).sums_follow() ? std::span<const uint32_t>(sums) : std::span<const uint32_t>();
    problem = write_table_in_rounds(table, leaders, own);
    step(!first && !gathers_mapping() && table.sums_follow, [&] { file().close(); });
    agree(*comm_, problem);
  }
  if (gathers_mapping()) {
    problem = attempt([&] {
      gather_mapping({{static_cast<int32_t>(values[3]), values[2]},
                      static_cast<int32_t>(values[4]),
                      values[5],
                      static_cast<int>(values[1])});
    });
    step(!first, [&] { file().close(); });
    agree(*comm_, problem);
  }
  step(first && !early, [&] { complete(table.pointer); });
  if (values[0]) {
    agree(*comm_, problem);
  } else {
    agree_with(*comm_, problem, static_cast<int>(values[1]));
  }
  if (edges()) edges()->remove();
  if (buddies > 0) {
    comm_->barrier();  // files are completed by one task each, and read by others
    write_buddies(*store_, *comm_, local(), facts_, path(), base, buddies);
  }
  if (values[6]) look_for_group_losses(blocks, sums);
}

// Collective, when the files are complete: what else there is can be read.
void Writer::look_for_group_losses(const TaskBlocks& blocks, std::span<const uint32_t> sums) {
  const layout::ChunkGeometry& chunks = stream_.geometry();
  const WrittenTask mine{task(), facts_.filenumber, chunks, blocks, sums};
  auto problem = check_neighbours(local(), std::span(&mine, 1),
                                  [&](int32_t) { return store_->open(path(), Access::read); });
  const auto own = attempt([&] { require_tails(mine, path()); });
  agree(*comm_, own ? own : problem);
}

// After a close that has failed on some task: whoever opens the file finds all that this task has brought
// into it.
void Writer::report_row(std::span<const std::byte> row) noexcept {
  attempt([&] {
    const auto data = store_->open(path(), Access::write);
    if (stream_.journal_key().may_mark()) require_unfinished(*data, stream_.journal_key().pointer_offset());
    const bool syncs = facts_.durable || stream_.journal_key().own_caches;
    if (syncs) data->sync();
    JournalWriter journal(*store_, stream_.journal_key(),
                          facts_.durable ? Journaling::durable : Journaling::required);
    const RowView view(row);
    for (int64_t b = 0; !view.empty() && b < view.blocks(); ++b)
      journal.report(*data, local().rank(), b, view.size_of(b), b + 1 < view.blocks());
    if (syncs) journal.sync(*data);
    journal.close();
    data->close();
  });
}

// What this task has written, and its checksums. All its bytes are on their way then.
std::vector<uint32_t> Writer::finish_stream(TaskBlocks& blocks) {
  const auto handle = stream_.release_handle();
  blocks = stream_.park();
  if (handle) handle->close();
  if (facts_.durable) stream_.sync();
  stream_.require_nothing_lost();
  if (stream_.journal_key().hosts.count > 1)
    stream_.release_journal();  // which the first task looks at before it is removed
  return blocks.take_sums(file(), stream_.geometry());
}

// Collective over the file: rows to their leaders. A task that failed brings an empty one.
Writer::Table Writer::collect_table(Leaders& leaders, std::span<const std::byte> row) {
  Table table;
  table.leaders = leaders.total();
  table.is_leader = leaders.is_leader();
  table.first = leaders.first();
  table.rows = leaders.gather_any(row);
  const RowView own(row);
  int64_t facts[2] = {own.empty() ? 0 : own.blocks(), own.empty()};  // blocks, failures
  table.for_each_row([&](size_t, const RowView& view) {
    table.sums += view.sums();
    table.sums_follow |= view.sums_follow();
    if (table.leaders > 1) return;
    facts[0] = std::max(facts[0], view.empty() ? 0 : view.blocks());
    facts[1] = std::max<int64_t>(facts[1], view.empty());
  });
  if (table.leaders > 1) {
    local().all_max(facts);
    if (stream_.piece() > 0) {
      int64_t total = 0;
      int64_t before = table.sums;
      local().prefix_sum_and_total(std::span(&before, 1), std::span(&total, 1));
      table.sums_before = before;
      table.sums = total;
    }
  }
  table.pointer.maxblocks = static_cast<int32_t>(facts[0]);
  table.sound = facts[1] == 0;
  return table;
}

// Local: where META2 begins.
void Writer::place_table(Table& table) {
  const auto rounds = checked_mul(table.pointer.maxblocks, stream_.geometry().skip);
  const int64_t begin = layout::data_start(local().size(), facts_.fsblksize);
  table.pointer.varheader = must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile");
}

SliceSums Writer::sums_of(const Table& table) {
  SliceSums sums;
  sums.reserve(table.rows.sizes.size());
  table.for_each_row(
      [&](size_t t, const RowView& view) { sums.add(view.sums(), view.sums_here(), static_cast<int>(t)); });
  return sums;
}

// Collective over the file, with the checksums `own` of this task if they follow. All go through all rounds:
// what fails is returned, to be agreed on.
std::optional<Error> Writer::write_table_in_rounds(const Table& table, Leaders& leaders,
                                                   std::span<const uint32_t> own) {
  struct Part {
    int64_t begin;
    int64_t rounds;
  };
  SliceSums sums;
  std::vector<Part> parts;
  Part mine{};
  auto problem = attempt([&] {
    if (!table.sums_follow) return;
    sums = sums_of(table);
    parts.resize(leaders.count());
    sums.for_each_begin([&](size_t t, int64_t begin) { parts[t] = {begin, rounds_of(sums.in_rounds())}; });
  });
  leaders.scatter(std::span<const Part>(parts), mine);
  SumRounds rounds(mine.rounds, [&](int64_t round) {
    return leaders.gather_any(std::as_bytes(part_in_window(own, mine.begin, round)));
  });
  if (table.sums_follow && !problem) problem = attempt([&] { write_table(table, std::move(sums), rounds); });
  rounds.finish();
  return problem;
}

// At a leader: its part of META2, and of the trailer. Local but for the rounds.
void Writer::write_table(const Table& table, SliceSums sums, SumRounds& rounds) {
  if (stream_.journal_key().may_mark()) require_unfinished(file(), stream_.journal_key().pointer_offset());
  std::vector<RowView> rows;
  std::vector<int64_t> counts;
  table.for_each_row([&](size_t, const RowView& view) {
    rows.push_back(view);
    counts.push_back(view.blocks());
  });
  const format::Header h = header();
  MetadataWriter writer(file(), h);
  write_block_table(
      writer, table.pointer, table.first, counts,
      [&](size_t t, int64_t block) { return rows[t].size_of(block); }, 0);
  if (h.leads_set() && blockwise_) {
    if (table.first == 0) writer.write_mapping_size(table.pointer, comm_->size());
    for_blockwise_mapping(table, [&](int64_t from, std::span<const layout::Placement> entries) {
      writer.write_mapping(table.pointer, from, entries);
    });
  }
  if (stream_.piece() > 0) write_trailer(table, h, sums, rounds);
  if (facts_.durable) file().sync();
}

void Writer::write_trailer(const Table& table, const format::Header& h, SliceSums& sums, SumRounds& rounds) {
  const format::Trailer plan =
      plan_trailer(h, table.pointer, stream_.journal_key().identity, table.sums, mapping_size());
  TrailerWriter writer(file(), h, plan, stream_.piece());
  writer.begin_groups(table.first, std::ssize(table.rows.sizes), table.sums_before);
  sums.take(sums.total(), rounds, [&](std::span<const std::byte> some) { writer.add_sums(some); });
  writer.end_groups();
  if (h.leads_set() && blockwise_)
    for_blockwise_mapping(table, [&](int64_t from, std::span<const layout::Placement> entries) {
      writer.write_mapping(from, std::ssize(entries), ntasks());
    });
  if (table.first == 0) writer.write_footer();
}

// Everybody can compute this mapping: the leaders of file 0 write equal shares of it without having to ask.
template <class Visit>
void Writer::for_blockwise_mapping(const Table& table, Visit&& visit) {
  constexpr int64_t at_once = 4 * format::group_tasks;
  const int64_t all = local().size();
  const int64_t groups = format::groups_of(ntasks());
  const int64_t begin = format::group_tasks * (table.first * groups / all);
  const int64_t end = format::group_tasks * ((table.first + std::ssize(table.rows.sizes)) * groups / all);
  std::vector<layout::Placement> entries;
  for (int64_t from = begin; from < std::min<int64_t>(end, ntasks()); from += at_once) {
    entries.clear();
    for (int64_t t = from; t < std::min<int64_t>({from + at_once, end, ntasks()}); ++t)
      entries.push_back(layout::place_blockwise(static_cast<int32_t>(t), comm_->size(), facts_.nfiles));
    visit(from, entries);
  }
}

// Collective: a mapping that only the tasks know into file 0, through leaders of slices of all tasks; of
// several hosts, through the first task of that file alone, which writes all that lies around it.
void Writer::gather_mapping(const GroupLead& lead) {
  const layout::Placement mine{facts_.filenumber, local().rank()};
  if (comm_->node_count() > 1) {
    const Gathered all = comm_->gather(std::as_bytes(std::span(&mine, 1)), lead.task);
    if (comm_->rank() != lead.task) return;
    std::vector<layout::Placement> entries(static_cast<size_t>(ntasks()));
    std::memcpy(entries.data(), all.bytes.data(), all.bytes.size());
    return write_group_mapping(lead, 0, entries);
  }
  Leaders leaders(*comm_);
  const std::vector<layout::Placement> entries = leaders.gather(std::span(&mine, 1));
  if (leaders.is_leader()) write_group_mapping(lead, task(), entries);
}

// Local: entries of the mapping from task `first` on.
void Writer::write_group_mapping(const GroupLead& lead, int64_t first,
                                 std::span<const layout::Placement> entries) {
  const bool own = facts_.filenumber == 0;
  const std::shared_ptr<File> other = own ? nullptr : store_->open(path_, Access::write);
  File& target = own ? file() : *other;
  format::Header h = header();
  h.ntasks = lead.ntasks;
  h.filenumber = 0;
  MetadataWriter writer(target, h);
  if (first == 0) writer.write_mapping_size(lead.pointer, comm_->size());
  writer.write_mapping(lead.pointer, first, entries);
  if (stream_.piece() > 0) {
    const format::Trailer plan = plan_trailer(h, lead.pointer, {}, lead.sums, ntasks());
    TrailerWriter(target, h, plan, stream_.piece()).write_mapping(first, std::ssize(entries), ntasks());
  }
  if (facts_.durable) target.sync();
  if (other) other->close();
}

// Local, by the first task of a file when all the rest is there.
void Writer::complete(const format::Pointer& p) {
  const format::Header h = header();
  MetadataWriter(file(), h).write_pointer(p);
  if (facts_.durable) file().sync();
  file().close();
  if (stream_.keeps_journal())
    remove_journal(*store_, path(), stream_.journal_key().identity, stream_.journal_key().hosts.count);
}

}  // namespace sheaf
