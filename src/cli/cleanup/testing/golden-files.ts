/** What the real kube-proxy programmed: see tests/goldens/README.md. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../../../tests/goldens', import.meta.url))

/** The files of this name in all scenarios that have it. */
export function goldenFiles(name: string): readonly { readonly scenario: string; readonly path: string }[] {
  return readdirSync(folder)
    .map((scenario) => ({ scenario, path: `${folder}/${scenario}/${name}` }))
    .filter(({ path }) => existsSync(path))
}

export function readGolden(scenario: string, name: string): string {
  return readFileSync(`${folder}/${scenario}/${name}`, 'utf8')
}
