"""Unchanged simulation codes of Debian (`make capture-test`): OpenFOAM with a directory for each task, Quantum
ESPRESSO with wave functions for each task, GROMACS that appends to data it reads back. Each stops, and resumes from
the captured files. Files and numbers equal those of the plain run. Codes that are not installed are skipped with a
message."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from program_case import ENVIRONMENT, SECONDS, ProgramCase

INPUTS = Path(__file__).resolve().parent / "inputs"
MPIRUN = "mpirun --oversubscribe -n 4"


class OpenFoam(ProgramCase):
    output = "processor*"
    rules = ("processor*/**:all.sion",)

    def prepare(self, where: Path) -> None:
        shutil.copytree(INPUTS / "openfoam", where)

    def test_a_cavity_in_four_parts_goes_on_and_is_put_together(self) -> None:
        self.need("icoFoam", "mpirun")
        run = f"{MPIRUN} icoFoam -parallel > log"
        longer = "sed -i 's/endTime 0.1/endTime 0.2/' system/controlDict"
        meshing = "export WM_PROJECT_DIR=/usr/share/openfoam; blockMesh > log && decomposePar > log"
        script = f"{meshing} && {run} && {longer} && {run} && reconstructPar -newTimes > log"
        self.both("sh", "-c", script)
        self.assertGreater(self.check_bytes(), 200)
        self.output = "0.*"  # reconstructed data, which is not captured
        plain, captured = (self.files(self.dir / where) for where in ("plain", "captured"))
        self.assertEqual(len(plain), 8 * 6)
        self.assertEqual(plain, captured)
        self.output = "processor*"
        self.check_opens("sh", "-c", f"{meshing} && {run}")


def hydrogen() -> str:
    """Returns the bare Coulomb potential of hydrogen, in the format of Quantum ESPRESSO."""
    step, first = 0.01875, -7.0
    radii = [math.exp(first + i * step) for i in range(431)]
    orbital = [2 * r * math.exp(-r) for r in radii]

    def table(name: str, values: list[float], more: str = "") -> str:
        return f'<{name} type="real" size="{len(values)}" columns="1"{more}>\n' + "".join(f"{v:.12e}\n" for v in values) + f"</{name}>\n"

    return ('<UPF version="2.0.1">\n<PP_INFO>\n1/r\n</PP_INFO>\n<PP_HEADER generated="" author="" date="" comment="" element="H" '
            'pseudo_type="1/r" relativistic="no" is_ultrasoft="F" is_paw="F" is_coulomb="T" has_so="F" has_wfc="F" has_gipaw="F" '
            'paw_as_gipaw="F" core_correction="F" functional="PZ" z_valence="1.0" total_psenergy="0.0" wfc_cutoff="0.0" '
            f'rho_cutoff="0.0" l_max="0" l_max_rho="0" l_local="-1" mesh_size="{len(radii)}" number_of_wfc="1" number_of_proj="0"/>\n'
            f'<PP_MESH dx="{step}" mesh="{len(radii)}" xmin="{first}" rmax="{radii[-1]}" zmesh="1.0">\n' + table("PP_R", radii) +
            table("PP_RAB", [r * step for r in radii]) + "</PP_MESH>\n" + table("PP_LOCAL", [-2 / r for r in radii]) +
            '<PP_NONLOCAL>\n<PP_DIJ type="real" size="0" columns="4">\n</PP_DIJ>\n</PP_NONLOCAL>\n<PP_PSWFC>\n' +
            table("PP_CHI.1", orbital, ' index="1" label="1S" l="0" occupation="1.0" n="1" pseudo_energy="-0.5" cutoff_radius="0.0" '
                                       'ultrasoft_cutoff_radius="0.0"') +
            "</PP_PSWFC>\n" + table("PP_RHOATOM", [chi * chi for chi in orbital]) + "</UPF>\n")


class QuantumEspresso(ProgramCase):
    rules = ("out/**:all.sion",)

    def prepare(self, where: Path) -> None:
        (where / "out").mkdir(parents=True, exist_ok=True)
        shutil.copytree(INPUTS / "espresso", where, dirs_exist_ok=True)
        (where / "H.UPF").write_text(hydrogen())

    def test_wave_functions_of_four_tasks_are_restarted_from(self) -> None:
        self.need("pw.x", "mpirun")
        first, again = (f"{MPIRUN} pw.x -in {name}.in" for name in ("scf", "again"))
        texts = self.both("sh", "-c", f"{first} && {again}")
        plain, captured = ([line for line in text.splitlines() if re.search(r"^!|accuracy|convergence|density is read", line)]
                           for text in texts)
        self.assertGreater(len(plain), 6)
        self.assertEqual(plain, captured)

        def without_times(name: str, data: bytes) -> bytes:
            return re.sub(rb"<(created|cpu|wall|closed)\b.*", b"", data) if name.endswith(".xml") else data

        self.assertGreater(self.check_bytes(without_times), 8)
        self.check_opens("sh", "-c", first)


class Gromacs(ProgramCase):
    def prepare(self, where: Path) -> None:
        (where / "out").mkdir(parents=True, exist_ok=True)
        shutil.copytree(INPUTS / "gromacs", where, dirs_exist_ok=True)
        box = "gmx solvate -cs spc216.gro -box 2 2 2 -p topol.top -o conf.gro"
        made = subprocess.run(f"{box} && gmx grompp -f md.mdp -c conf.gro -p topol.top -o run.tpr -maxwarn 2", shell=True, cwd=where,
                              capture_output=True, text=True, env=ENVIRONMENT, timeout=SECONDS)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_a_trajectory_is_appended_to_from_a_checkpoint(self) -> None:
        self.need("gmx")
        run = "gmx mdrun -s run.tpr -deffnm out/run -ntmpi 2 -ntomp 1 -reprod -nb cpu -noconfout -cpt 0 -nsteps 100"
        plain, captured = self.both("sh", "-c", f"{run} && {run} -cpi out/run.cpt && gmx dump -f out/run.trr && "
                                                "gmx dump -cp out/run.cpt | grep '^ *[xv]\\['")
        self.assertEqual(plain.count("frame"), 11)
        self.assertEqual(plain, captured)

        def results(name: str, data: bytes) -> bytes:  # the rest depends on times and processes
            return data if name.endswith((".trr", ".edr")) else b""

        self.assertEqual(self.check_bytes(results), 5)
        self.check_opens("sh", "-c", run)


if __name__ == "__main__":
    unittest.main()
