/** Builds a Go program with messages from our .proto files, once for each state of its sources, in .cache. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const protoFolder = join(root, 'src/kpng/proto')
const messages = ['localv1', 'globalv1']

/** The path of the program. Throws when there is no Go, or no way to get the modules. */
export async function buildGo(source: URL): Promise<string> {
  const folder = join(root, '.cache/kpng-interop', digest(source))
  const program = join(folder, 'program')
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  for (const file of sourcesIn(source)) cpSync(join(fileURLToPath(source), file), join(folder, file))
  const go = (...args: string[]) => run('go', args, { cwd: folder, maxBuffer: 1 << 24 })
  await go('build', '-mod=mod', '-o', 'protoc-gen-go', 'google.golang.org/protobuf/cmd/protoc-gen-go')
  await go('build', '-mod=mod', '-o', 'protoc-gen-go-grpc', 'google.golang.org/grpc/cmd/protoc-gen-go-grpc')
  const { stdout: module } = await go('list', '-m')
  const packages = messages.map((name) => `M${name}/api.proto=${module.trim()}/${name}`)
  const options = ['paths=source_relative', ...packages].join(',')
  await run(process.execPath, [
    join(root, 'node_modules/protoc/protoc.cjs'),
    `--plugin=protoc-gen-go=${join(folder, 'protoc-gen-go')}`,
    `--plugin=protoc-gen-go-grpc=${join(folder, 'protoc-gen-go-grpc')}`,
    `-I${protoFolder}`,
    `--go_out=${options}:${folder}`,
    `--go-grpc_out=${options}:${folder}`,
    ...messages.map((name) => join(protoFolder, name, 'api.proto')),
  ])
  await go('build', '-mod=mod', '-o', 'program.new', '.')
  // Complete, or not there at all.
  renameSync(join(folder, 'program.new'), program)
  return program
}

function sourcesIn(source: URL): readonly string[] {
  return readdirSync(source).filter((file) => /^go\.|\.go$/.test(file))
}

/** Another source, another folder. */
function digest(source: URL): string {
  const hash = createHash('sha256')
  for (const file of sourcesIn(source)) hash.update(readFileSync(new URL(file, source)))
  for (const name of messages) hash.update(readFileSync(join(protoFolder, name, 'api.proto')))
  return hash.digest('hex').slice(0, 16)
}
