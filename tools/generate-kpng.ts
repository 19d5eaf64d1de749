/**
 * Makes the TypeScript code for KPNG's messages from src/kpng/proto/*.proto, without network access. The result is
 * committed, so that neither a build nor an install needs the generator. A test fails when it is out of date.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const protoFolder = join(root, 'src/kpng/proto')
const files = ['localv1/api', 'globalv1/api']

const options = [
  'snakeToCamel=false', // the code uses the names of the .proto files
  'enumsAsLiterals=true', // erasableSyntaxOnly forbids enums
  'forceLong=bigint', // a hash does not fit into a number
  'oneof=unions-value',
  'useOptionals=messages',
  'useReadonlyTypes=true',
  'importSuffix=.ts',
  'outputServices=none',
  'outputJsonMethods=false',
  'outputPartialMethods=false',
]

/** The generated text by path. */
export async function generateKpng(): Promise<ReadonlyMap<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-proto-'))
  try {
    execFileSync(process.execPath, [
      join(root, 'node_modules/protoc/protoc.cjs'),
      `--plugin=protoc-gen-ts_proto=${join(root, 'node_modules/.bin/protoc-gen-ts_proto')}`,
      `-I${protoFolder}`,
      `--ts_proto_out=${folder}`,
      `--ts_proto_opt=${options.join(',')}`,
      ...files.map((file) => join(protoFolder, `${file}.proto`)),
    ])
    const made = new Map<string, string>()
    for (const file of files) {
      const path = join(protoFolder, 'generated', `${file}.ts`)
      const text = withWholeMapEntries(readFileSync(join(folder, `${file}.ts`), 'utf8'))
      made.set(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
    }
    return made
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** KPNG hashes the bytes, and Go writes the key and the value of a map entry even when they are empty. */
function withWholeMapEntries(text: string): string {
  return text.replace(/if \(message\.(?:key|value) !== ""\) (\{[^}]*\})/g, '$1')
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, text] of await generateKpng()) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
