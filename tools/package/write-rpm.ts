/** A package for Fedora, RHEL, SUSE and their relatives, from the package tree. */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { architectures } from './architectures.ts'
import { packageFacts } from './package-facts.ts'
import type { PackageRequest } from './write-deb.ts'

export async function writeRpm({ path, tree, version, architecture, epoch }: PackageRequest): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-rpm-'))
  try {
    const spec = join(folder, 'fairlead.spec')
    await writeFile(spec, specOf(version, tree, await filesIn(tree)))
    const { rpm } = architectures[architecture]
    await promisify(execFile)(
      'rpmbuild',
      ['-bb', '--quiet', `--target=${rpm}-linux`, '--define', `_topdir ${folder}`, ...reproducible, spec],
      { env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) }, maxBuffer: 16 << 20 },
    )
    await copyFile(join(folder, 'RPMS', rpm, `fairlead-${version}-1.${rpm}.rpm`), path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const reproducible = [
  '_buildhost localhost',
  'use_source_date_epoch_as_buildtime 1',
  'clamp_mtime_to_source_date_epoch 1',
].flatMap((setting) => ['--define', setting])

/** With all that is in them, so that they are gone when the package is. */
const ownFolders = ['lib/fairlead', 'share/doc/fairlead']

/** As they are: nothing is stripped, compressed or searched for what it needs. */
function specOf(version: string, tree: string, files: readonly string[]): string {
  const { summary, description, homepage, maintainer, configuration } = packageFacts
  const single = files.filter((file) => !ownFolders.some((folder) => file.startsWith(`${folder}/`)))
  const installed = single.map((file) => (file.startsWith('etc/') ? `/${file}` : `/usr/${file}`))
  return `%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%define _binary_payload w0.xzdio

Name: fairlead
Version: ${version}
Release: 1
Summary: ${summary}
License: Apache-2.0
URL: ${homepage}
Packager: ${maintainer}
AutoReqProv: no
Requires: glibc >= 2.28, libstdc++, libgcc
Recommends: nftables

%description
${description.join('\n')}

%install
mkdir -p %{buildroot}/usr
cp -a ${tree}/etc %{buildroot}/
cp -a ${tree}/bin ${tree}/lib ${tree}/share %{buildroot}/usr/

%files
%defattr(-, root, root)
${ownFolders.map((folder) => `/usr/${folder}`).join('\n')}
%dir /etc/fairlead
${installed.map((file) => ((configuration as readonly string[]).includes(file) ? `%config(noreplace) ${file}` : file)).join('\n')}

%post
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  [ "$1" -lt 2 ] || systemctl try-restart fairlead.service
fi

%preun
if [ "$1" -eq 0 ] && [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now fairlead.service
  systemctl list-units --plain --no-legend 'fairlead@*.service' | while read -r unit _; do
    systemctl --no-reload disable --now "$unit"
  done
fi

%postun
[ "$1" -gt 0 ] || rm -rf /run/fairlead
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
`
}

async function filesIn(tree: string): Promise<readonly string[]> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(tree.length + 1))
    .toSorted()
}
