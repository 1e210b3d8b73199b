// Streaming, sorting and collision of the solvent. Takes about 100 ns per particle and step on one core.
// solvent.hpp explains why the result is reproducible.
#include "solvent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "collective.hpp"
#include "random.hpp"

namespace particles {
namespace {

using Matrix = std::array<Vector, 3>;

// Returns the rotation by the fixed angle about a random axis, uniform on the sphere (Rodrigues' formula).
Matrix rotation(const Draw& draw, double cosine, double sine) {
  const double z = 2 * unit(draw[0]) - 1;
  const double phi = 2 * std::numbers::pi * unit(draw[1]);
  const double r = std::sqrt(1 - z * z);
  const double x = r * std::cos(phi);
  const double y = r * std::sin(phi);
  const double t = 1 - cosine;
  return {{{t * x * x + cosine, t * x * y - sine * z, t * x * z + sine * y},
           {t * x * y + sine * z, t * y * y + cosine, t * y * z - sine * x},
           {t * x * z - sine * y, t * y * z + sine * x, t * z * z + cosine}}};
}

// Returns two independent normal numbers from two uniform ones (Box and Muller).
std::pair<double, double> normal(std::uint32_t a, std::uint32_t b) {
  const double r = std::sqrt(-2 * std::log((a + 1.0) * 0x1p-32));
  const double phi = 2 * std::numbers::pi * unit(b);
  return {r * std::cos(phi), r * std::sin(phi)};
}

// Initial velocities are multiples of 2^-32, so that their sum is exact in integers on any number of tasks.
constexpr double velocity_quantum = 0x1p-32;

Vector thermal_velocity(std::uint64_t seed, std::uint64_t id) {
  const Draw a = philox(seed, Purpose::velocity, 0, id);
  const auto [vx, vy] = normal(a[0], a[1]);
  const auto [vz, unused] = normal(a[2], a[3]);
  static_cast<void>(unused);
  Vector v{vx, vy, vz};
  for (double& x : v) x = std::nearbyint(x / velocity_quantum) * velocity_quantum;
  return v;
}

}  // namespace

Cells box_for(std::int64_t particles) {
  const double cells = static_cast<double>(particles) / particles_per_cell;
  const int edge = std::max(1, static_cast<int>(std::lround(std::cbrt(cells))));
  const int last = std::max(1, static_cast<int>(std::lround(cells / (static_cast<double>(edge) * edge))));
  return {edge, edge, last};
}

Solvent::Solvent(MPI_Comm world, Domain& domain, std::int64_t particles, std::uint64_t seed)
    : world_(world), domain_(domain), total_(particles), seed_(seed) {}

void Solvent::create() {
  const Cells& box = domain_.box();
  const Cells& low = domain_.low();
  const Cells& high = domain_.high();
  const std::int64_t cells = std::int64_t{box[0]} * box[1] * box[2];
  const std::int64_t each = total_ / cells;
  const std::int64_t rest = total_ % cells;  // the first `rest` cells contain one more
  std::array<std::int64_t, 3> sum{};

  particles_.clear();
  for (int z = low[2]; z < high[2]; ++z)
    for (int y = low[1]; y < high[1]; ++y)
      for (int x = low[0]; x < high[0]; ++x) {
        const std::int64_t cell = (std::int64_t{z} * box[1] + y) * box[0] + x;
        const std::int64_t first = cell * each + std::min(cell, rest);
        const std::int64_t last = first + each + (cell < rest ? 1 : 0);
        for (std::int64_t id = first; id < last; ++id) {
          const auto index = static_cast<std::uint64_t>(id);
          const Draw d = philox(seed_, Purpose::position, 0, index);
          const Vector v = thermal_velocity(seed_, index);
          particles_.push_back({id, {x + unit(d[0]), y + unit(d[1]), z + unit(d[2])}, {v[0], v[1], v[2]}});
          for (int k = 0; k < 3; ++k) sum[k] += static_cast<std::int64_t>(v[k] / velocity_quantum);
        }
      }

  MPI_Allreduce(MPI_IN_PLACE, sum.data(), 3, MPI_INT64_T, MPI_SUM, world_);
  for (Particle& p : particles_)
    for (int k = 0; k < 3; ++k)
      p.velocity[k] -= static_cast<double>(sum[k]) * velocity_quantum / static_cast<double>(total_);
  step_ = 0;
}

void Solvent::adopt(std::vector<Particle> particles, std::int64_t step) {
  particles_ = std::move(particles);
  step_ = step;
}

void Solvent::stream() {
  const Vector edge{static_cast<double>(domain_.box()[0]), static_cast<double>(domain_.box()[1]),
                    static_cast<double>(domain_.box()[2])};
  for (Particle& p : particles_)
    for (int d = 0; d < 3; ++d) {
      double x = p.position[d] + p.velocity[d] * time_step;
      if (x < 0 || x >= edge[d]) {
        x -= edge[d] * std::floor(x / edge[d]);
        if (x >= edge[d]) x = 0;  // a tiny negative x rounds up to the edge itself
      }
      p.position[d] = x;
    }
}

// Sorts by cell with a counting sort, then the about ten particles of each cell by id with an insertion sort.
void Solvent::sort_by_cell_and_id(const Vector& shift) {
  const Cells& box = domain_.box();
  const Cells& low = domain_.low();
  const Cells& high = domain_.high();
  const std::size_t count = particles_.size();
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw std::runtime_error("too many particles on one task");
  const auto nx = static_cast<std::uint32_t>(high[0] - low[0]);
  const auto ny = static_cast<std::uint32_t>(high[1] - low[1]);

  cell_of_.resize(count);
  order_.resize(count);
  sorted_.resize(count);
  first_.assign(domain_.own_cells() + 2, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint32_t, 3> c{};
    for (int d = 0; d < 3; ++d)
      c[d] = static_cast<std::uint32_t>(shifted_cell(particles_[i].position[d], shift[d], box[d]) - low[d]);
    cell_of_[i] = (c[2] * ny + c[1]) * nx + c[0];
    ++first_[cell_of_[i] + 2];
  }
  for (std::size_t c = 2; c < first_.size(); ++c) first_[c] += first_[c - 1];

  // While the cells are filled, first_[c + 1] advances from the start to the end of cell c and so becomes the
  // start of cell c + 1.
  for (std::size_t i = 0; i < count; ++i) order_[first_[cell_of_[i] + 1]++] = static_cast<std::uint32_t>(i);
  for (std::size_t c = 0; c < domain_.own_cells(); ++c)
    for (std::uint32_t i = first_[c] + 1; i < first_[c + 1]; ++i) {
      const std::uint32_t moving = order_[i];
      std::uint32_t slot = i;
      for (; slot > first_[c] && particles_[order_[slot - 1]].id > particles_[moving].id; --slot)
        order_[slot] = order_[slot - 1];
      order_[slot] = moving;
    }
  for (std::size_t i = 0; i < count; ++i) sorted_[i] = particles_[order_[i]];
  particles_.swap(sorted_);
}

void Solvent::collide() {
  const double cosine = std::cos(rotation_angle * std::numbers::pi / 180);
  const double sine = std::sin(rotation_angle * std::numbers::pi / 180);
  const Cells& box = domain_.box();
  const Cells& low = domain_.low();
  const Cells& high = domain_.high();
  std::size_t local = 0;
  for (int z = low[2]; z < high[2]; ++z)
    for (int y = low[1]; y < high[1]; ++y)
      for (int x = low[0]; x < high[0]; ++x, ++local) {
        const std::size_t begin = first_[local], end = first_[local + 1];
        if (end - begin < 2) continue;
        Vector mean{};
        for (std::size_t i = begin; i < end; ++i)
          for (int d = 0; d < 3; ++d) mean[d] += particles_[i].velocity[d];
        for (double& m : mean) m /= static_cast<double>(end - begin);

        const auto cell = static_cast<std::uint64_t>((std::int64_t{z} * box[1] + y) * box[0] + x);
        const auto step = static_cast<std::uint32_t>(step_);
        const Matrix r = rotation(philox(seed_, Purpose::rotation_axis, step, cell), cosine, sine);
        for (std::size_t i = begin; i < end; ++i) {
          double* v = particles_[i].velocity;
          const Vector w{v[0] - mean[0], v[1] - mean[1], v[2] - mean[2]};
          for (int d = 0; d < 3; ++d) v[d] = mean[d] + r[d][0] * w[0] + r[d][1] * w[1] + r[d][2] * w[2];
        }
      }
}

void Solvent::advance() {
  ++step_;
  const Draw d = philox(seed_, Purpose::grid_shift, static_cast<std::uint32_t>(step_), 0);
  const Vector shift{unit(d[0]), unit(d[1]), unit(d[2])};
  stream();
  domain_.migrate(particles_, shift);
  sort_by_cell_and_id(shift);
  collide();
}

Conserved Solvent::conserved() const {
  Conserved c;
  std::array<double, 4> sums{};
  for (const Particle& p : particles_)
    for (int d = 0; d < 3; ++d) {
      sums[d] += p.velocity[d];
      sums[3] += 0.5 * p.velocity[d] * p.velocity[d];
    }
  c.particles = static_cast<std::int64_t>(particles_.size());
  c.digest = combined(digest_of(particles_), world_);
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_DOUBLE, MPI_SUM, world_);
  MPI_Allreduce(MPI_IN_PLACE, &c.particles, 1, MPI_INT64_T, MPI_SUM, world_);
  c.momentum = {sums[0], sums[1], sums[2]};
  c.kinetic_energy = sums[3];
  return c;
}

}  // namespace particles
