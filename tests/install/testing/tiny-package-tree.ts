/** A package tree with little in it: enough to see where its files go. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export async function makeTinyPackageTree(folder: string): Promise<void> {
  const sbom = {
    bomFormat: 'CycloneDX',
    metadata: { component: { 'bom-ref': 'fairlead@1', type: 'application', name: 'fairlead', version: '1' } },
    components: [{ 'bom-ref': 'yaml@2', type: 'library', name: 'yaml', version: '2' }],
    dependencies: [{ ref: 'fairlead@1', dependsOn: ['yaml@2'] }],
  }
  const files = {
    'lib/fairlead/koffi.node': 'a library',
    'lib/systemd/system/fairlead.service': '[Unit]',
    'share/doc/fairlead/LICENSE': 'a licence',
    'share/doc/fairlead/LICENSE.nodejs': 'another one',
    'share/doc/fairlead/NOTICE': 'who else had a part in it',
    'share/doc/fairlead/docs/install.md': 'a page',
    'share/doc/fairlead/sbom.cdx.json': JSON.stringify(sbom),
    'share/man/man8/fairlead.8': '.TH fairlead 8',
    'etc/fairlead/config.yaml': 'mode: nftables\n',
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await mkdir(join(folder, 'bin'))
  // Any program: it is looked at, not run.
  await cp('/bin/true', join(folder, 'bin/fairlead'), { dereference: true })
}
