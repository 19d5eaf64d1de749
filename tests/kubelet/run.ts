import { spawn } from 'node:child_process'

export interface RunOptions {
  readonly cwd?: string
  readonly input?: string
  readonly env?: Readonly<NodeJS.ProcessEnv>
}

/** Runs a program to its end and returns what it printed; throws with its words when it fails. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, input, env = process.env } = options
  const child = spawn(program, args, { ...(cwd === undefined ? {} : { cwd }), env: { ...env }, stdio: 'pipe' })
  const output: Buffer[] = []
  const errors: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  // One that ends without reading its input says why itself.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) => reject(new Error(`${program} could not be started: is it installed?`, { cause })))
    child.once('close', resolve)
  })
  if (exitCode === 0) return Buffer.concat(output).toString()
  const said = Buffer.concat([...output, ...errors])
    .toString()
    .trim()
  throw new Error(`"${[program, ...args].join(' ')}" ended with code ${exitCode}: ${said}`)
}
