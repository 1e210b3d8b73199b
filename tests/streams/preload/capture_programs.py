"""Unchanged programs of Debian (`make capture-test`), each run captured and plain. All files must have the same
bytes, restarts the same numbers, and strace must see no open of a captured name. Programs that are not installed are
skipped with a message."""

from __future__ import annotations

import re
import subprocess
import unittest
from pathlib import Path

from program_case import ProgramCase

LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
"""
FORCES = "pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nfix 1 all nve\nthermo 10\n"

FORTRAN = """program writes
  implicit none
  integer :: i, u, n
  real :: x
  open(newunit=u, file='out/text.1', status='replace', action='readwrite')
  do i = 1, 1000
    write(u, '(i6,f12.4)') i, sqrt(real(i))
  end do
  rewind(u)
  n = 0
  do
    read(u, *, end=1) i, x
    n = n + i
  end do
1 close(u)
  open(newunit=u, file='out/direct.1', access='direct', recl=80, form='unformatted')
  do i = 20, 1, -1
    write(u, rec=i) [(real(i * 10 + n), n = 1, 20)]
  end do
  close(u)
  open(newunit=u, file='out/stream.1', access='stream', form='unformatted')
  write(u) (i, i = 1, 5000)
  write(u, pos=101) 7
  close(u)
  open(newunit=u, file='out/scratch.1')
  write(u, *) 'gone'
  close(u, status='delete')
  open(newunit=u, file='out/text.1', position='append')
  write(u, *) 'end'
  close(u)
end program
"""

CXX = """#include <fstream>
#include <iostream>
#include <string>
int main() {
  std::ofstream out("out/text.1");
  for (int i = 0; i < 20000; ++i) out << i << ' ' << i * 0.5 << '\\n';
  out.close();
  std::fstream both("out/both.1", std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
  both << std::string(30000, 'a');
  both.seekp(100);
  both << "middle";
  both.seekg(98);
  std::string word(10, ' ');
  both.read(word.data(), 10);
  both.seekp(0, std::ios::end);
  both << word;
  both.close();
  std::ofstream more("out/text.1", std::ios::app);
  more << "more" << std::endl;
  std::ifstream in("out/text.1");
  double sum = 0, a, b;
  while (in >> a >> b) sum += b;
  std::ofstream("out/sum.1") << sum << '\\n';
}
"""


class Programs(ProgramCase):
    def test_lammps_dumps_restarts_and_goes_on(self) -> None:
        self.need("lmp", "mpirun")
        (self.dir / "in.run").write_text(LAMMPS + FORCES + "dump 1 all custom 5 out/f.*.% id x y z\nrestart 10 out/r.*.%\nrun 40\n")
        (self.dir / "in.again").write_text("read_restart out/r.20.%\n" + FORCES + "run 20\ndump 2 all custom 5 out/f.*.% id x y z\n"
                                           "run 10\n")
        mpi = ("mpirun", "--oversubscribe", "-n", "4", "lmp", "-in")
        self.rules = ("out/f.*:f.sion", "out/r.*:r.sion")
        self.both(*mpi, "../in.run")
        tables = [re.findall(r"^\s+\d+\s+[-\d.].*$", text, re.M) for text in self.both(*mpi, "../in.again")]
        self.assertGreater(len(tables[0]), 4)
        self.assertEqual(tables[0], tables[1])
        self.assertGreater(self.check_bytes(), 50)
        self.check_opens("lmp", "-in", "../in.run")

    def compiled(self, compiler: str, name: str, source: str) -> str:
        self.need(compiler)
        (self.dir / name).write_text(source)
        program = str(self.dir / Path(name).stem)
        subprocess.run([compiler, "-O1", "-o", program, self.dir / name], check=True)
        return program

    def test_a_fortran_program_reads_back_and_deletes(self) -> None:
        program = self.compiled("gfortran", "writes.f90", FORTRAN)
        self.both(program)
        self.assertEqual(self.check_bytes(), 3)
        self.check_opens(program)

    def test_streams_of_cxx(self) -> None:
        program = self.compiled("g++", "writes.cpp", CXX)
        self.both(program)
        self.assertEqual(self.check_bytes(), 3)
        self.check_opens(program)

    def test_tar_and_cp_and_sed(self) -> None:
        self.need("tar", "cp", "sed")
        work = ("mkdir -p in && for i in 1 2 3; do seq $i 5000 > in/f.$i; done && tar cf - in | tar xf - -C out --strip-components=1 && "
                "cp -a out/f.1 out/g.1 && cp out/f.2 out/g.2 && sed -i s/7/seven/ out/g.1 && sort -r out/f.3 -o out/h.3 && "
                "tail -n 1 out/f.1 >> out/h.3 && mv out/g.2 out/i.2 && gzip -k out/f.2 -n && dd if=out/f.3 of=out/j bs=100 skip=3 "
                "seek=2 count=5 2>&1 && truncate -s 9999 out/j && cat out/* | md5sum")
        plain, captured = self.both("sh", "-c", work)
        self.assertEqual(plain.splitlines()[-1], captured.splitlines()[-1])
        self.assertEqual(self.check_bytes(), 8)

    def test_python_writes_and_reads_back(self) -> None:
        script = ("import csv, json, pickle, gzip, pathlib\n"
                  "json.dump({'a': list(range(1000))}, open('out/a.json', 'w'))\n"
                  "with open('out/t.csv', 'w', newline='') as f: csv.writer(f).writerows([[i, i * i] for i in range(500)])\n"
                  "pickle.dump([b'x' * 70000] * 3, open('out/p.pickle', 'wb'))\n"
                  "with gzip.GzipFile('out/z.gz', 'wb', mtime=0) as f: f.write(b'zip' * 10000)\n"
                  "assert json.load(open('out/a.json'))['a'][7] == 7 and len(pickle.load(open('out/p.pickle', 'rb'))) == 3\n"
                  "pathlib.Path('out/sizes').write_text(str(sorted((p.name, p.stat().st_size) for p in pathlib.Path('out').iterdir())))\n")
        self.both("python3", "-c", script)
        self.assertEqual(self.check_bytes(), 5)
        self.check_opens("python3", "-c", script)


if __name__ == "__main__":
    unittest.main()
