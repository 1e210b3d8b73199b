// Domain decomposition over a Cartesian communicator, and migration of particles along its directions.
#include "domain.hpp"

#include <stdexcept>

namespace particles {

Domain::Domain(MPI_Comm world, Cells box) : box_(box) {
  int size = 0;
  MPI_Comm_size(world, &size);
  MPI_Dims_create(size, 3, tasks_.data());
  const Cells periodic{1, 1, 1};
  MPI_Cart_create(world, 3, tasks_.data(), periodic.data(), 0, &cart_);
  int rank = 0;
  MPI_Comm_rank(cart_, &rank);
  MPI_Cart_coords(cart_, rank, 3, place_.data());
  for (int d = 0; d < 3; ++d) {
    if (box_[d] < tasks_[d])
      throw std::runtime_error("too few particles: a task would own no collision cell");
    low_[d] = static_cast<int>(std::int64_t{box_[d]} * place_[d] / tasks_[d]);
    high_[d] = static_cast<int>(std::int64_t{box_[d]} * (place_[d] + 1) / tasks_[d]);
  }
  MPI_Type_contiguous(sizeof(Particle), MPI_BYTE, &record_);
  MPI_Type_commit(&record_);
}

Domain::~Domain() {
  MPI_Type_free(&record_);
  MPI_Comm_free(&cart_);
}

std::size_t Domain::own_cells() const {
  std::size_t n = 1;
  for (int d = 0; d < 3; ++d) n *= static_cast<std::size_t>(high_[d] - low_[d]);
  return n;
}

// Returns the task that owns a cell in one direction: the inverse of low_ = floor(box * place / tasks).
int Domain::owner_along(int direction, int cell) const {
  return static_cast<int>(((std::int64_t{cell} + 1) * tasks_[direction] - 1) / box_[direction]);
}

bool Domain::is_home(const Particle& p, const Vector& shift) const {
  for (int d = 0; d < 3; ++d) {
    const int c = shifted_cell(p.position[d], shift[d], box_[d]);
    if (c < low_[d] || c >= high_[d]) return false;
  }
  return true;
}

void Domain::shift_exchange(int to, int from, const std::vector<Particle>& out,
                            std::vector<Particle>& particles) {
  const int sending = static_cast<int>(out.size());
  int coming = 0;
  MPI_Sendrecv(&sending, 1, MPI_INT, to, 0, &coming, 1, MPI_INT, from, 0, cart_, MPI_STATUS_IGNORE);
  const std::size_t here = particles.size();
  particles.resize(here + static_cast<std::size_t>(coming));
  MPI_Sendrecv(out.data(), sending, record_, to, 1, particles.data() + here, coming, record_, from, 1, cart_,
               MPI_STATUS_IGNORE);
}

// Moves every particle whose owner is elsewhere in this direction by one hop, the shorter way around the box.
void Domain::send_along(int direction, std::vector<Particle>& particles, double shift) {
  const int tasks = tasks_[direction];
  if (tasks == 1) return;
  for (auto& list : leaving_) list.clear();
  for (std::size_t i = 0; i < particles.size();) {
    const int c = shifted_cell(particles[i].position[direction], shift, box_[direction]);
    if (c >= low_[direction] && c < high_[direction]) {
      ++i;
      continue;
    }
    const int hops_up = (owner_along(direction, c) - place_[direction] + tasks) % tasks;
    leaving_[2 * hops_up <= tasks ? 1 : 0].push_back(particles[i]);
    particles[i] = particles.back();
    particles.pop_back();
  }
  int below = 0, above = 0;
  MPI_Cart_shift(cart_, direction, 1, &below, &above);
  shift_exchange(above, below, leaving_[1], particles);
  if (tasks > 2)
    shift_exchange(below, above, leaving_[0], particles);  // two tasks: "above" is the only neighbour
}

void Domain::migrate(std::vector<Particle>& particles, const Vector& shift) {
  for (bool all_home = false; !all_home;) {
    for (int d = 0; d < 3; ++d) send_along(d, particles, shift[d]);
    bool home = true;
    for (const Particle& p : particles) home = home && is_home(p, shift);
    MPI_Allreduce(&home, &all_home, 1, MPI_CXX_BOOL, MPI_LAND, cart_);
  }
}

}  // namespace particles
