/** Makes a single executable application: Node.js with Fairlead's code in it (https://nodejs.org/api/single-executable-applications.html). */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { architectureHere, architectures } from './architectures.ts'
import type { Architecture } from './architectures.ts'
import type { Bundle } from './bundle.ts'
import { fetchNpmPackage } from './fetch-npm-package.ts'
import { pinnedNode } from './pinned-node.ts'

const run = promisify(execFile)

/** Node.js looks for this text in itself to see whether it carries a program. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

export async function buildExecutable(path: string, code: Bundle, architecture: Architecture): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-executable-'))
  try {
    const blob = await prepareBlob(folder, code)
    await copyFile(await fetchNode(architecture), path)
    // Before the blob is put in: strip does not understand the file afterwards.
    await run(`${architecture.tools}strip`, [path])
    const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js')
    await run(process.execPath, [postject, path, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The same for every architecture: neither a snapshot nor a code cache, which only the same processor could read. */
async function prepareBlob(
  folder: string,
  { main, lines, relayWorker, namespaceWorker, console }: Bundle,
): Promise<string> {
  const blob = join(folder, 'blob')
  // Its name is that of the program's only script; source-lines.ts looks for it.
  await writeFile(join(folder, 'main.cjs'), main)
  const assets = {
    'relay-worker.js': relayWorker,
    'namespace-worker.js': namespaceWorker,
    'console.json': JSON.stringify(console),
    'source-files.json': JSON.stringify(lines.files),
    'source-lines': new Uint8Array(lines.lines.buffer),
  }
  for (const [name, content] of Object.entries(assets)) await writeFile(join(folder, name), content)
  const settings = {
    main: 'main.cjs',
    output: blob,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    assets: Object.fromEntries(Object.keys(assets).map((name) => [name, name])),
  }
  await writeFile(join(folder, 'settings.json'), JSON.stringify(settings))
  // It must be the same version as the one that reads it.
  const node = await fetchNode(architectures[architectureHere()])
  await run(node, ['--experimental-sea-config', 'settings.json'], { cwd: folder })
  return blob
}

async function fetchNode({ node }: Architecture): Promise<string> {
  return join(await fetchNpmPackage(pinnedNode(node), ['bin/node', 'LICENSE']), 'bin/node')
}
