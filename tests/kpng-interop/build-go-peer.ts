/** Builds the Go peer once, in .cache: messages from our .proto files, with KPNG's versions of gRPC and protobuf. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const protoFolder = join(root, 'src/kpng/proto')
const sources = ['go.mod', 'go.sum', 'peer.go', 'tools.go']
const messages = ['localv1', 'globalv1']

/** The path of the program. Throws when there is no Go, or no way to get the modules. */
export async function buildGoPeer(): Promise<string> {
  const folder = join(root, '.cache/kpng-interop', digest())
  const program = join(folder, 'peer')
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  for (const file of sources) cpSync(join(here, file), join(folder, file))
  const go = (...args: string[]) => run('go', args, { cwd: folder, maxBuffer: 1 << 24 })
  await go('build', '-mod=mod', '-o', 'protoc-gen-go', 'google.golang.org/protobuf/cmd/protoc-gen-go')
  await go('build', '-mod=mod', '-o', 'protoc-gen-go-grpc', 'google.golang.org/grpc/cmd/protoc-gen-go-grpc')
  const packages = messages.map((name) => `M${name}/api.proto=fairlead.test/kpng-interop/${name}`)
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
  await go('build', '-mod=mod', '-o', 'peer.new', '.')
  writeFileSync(program, readFileSync(join(folder, 'peer.new')), { mode: 0o755 })
  return program
}

/** Another source, another folder. */
function digest(): string {
  const hash = createHash('sha256')
  for (const file of sources) hash.update(readFileSync(join(here, file)))
  for (const name of messages) hash.update(readFileSync(join(protoFolder, name, 'api.proto')))
  return hash.digest('hex').slice(0, 16)
}
