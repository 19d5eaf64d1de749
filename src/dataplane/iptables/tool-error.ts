/** Makes an IptablesError from the error text of a tool. The texts are those of both variants of 1.8.9. */
import type { ExecResult } from '../exec/exec.ts'
import { IptablesError } from './iptables.ts'

/** `what` completes the sentence "could not …": `add chain X to table nat`. */
export function commandError(program: string, what: string, result: ExecResult): IptablesError {
  const complaint = complaintOf(program, result)
  return hostError(program, complaint) ?? refusal(program, what, complaint)
}

export function restoreError(program: string, input: string, result: ExecResult): IptablesError {
  const complaint = complaintOf(program, result)
  const known = hostError(program, complaint)
  if (known !== undefined) return known
  const line = refusedLine(result.stderr, input)
  if (line === undefined) return new IptablesError('refused', `${program} refused the rules: ${complaint}`)
  return new IptablesError(
    'refused',
    `${program} refused line ${line} of its input, "${lineText(input, line)}": ${complaint}`,
    { line },
  )
}

/**
 * The tools name the line in three ways. If the table is refused as a whole, they name the line of its COMMIT, which says
 * nothing about the rule that caused it.
 */
function refusedLine(stderr: string, input: string): number | undefined {
  const match =
    /^Error occurred at line: (\d+)/m.exec(stderr) ??
    /^line (\d+): [A-Z_]+ failed/m.exec(stderr) ??
    /: line (\d+) failed/.exec(stderr)
  if (match === null) return undefined
  const line = Number(match[1])
  const text = lineText(input, line)
  return text === undefined || text === 'COMMIT' ? undefined : line
}

/** Without `split`, because the input may have 50 MB. */
function lineText(input: string, line: number): string | undefined {
  let start = 0
  for (let n = 1; n < line; n++) {
    const end = input.indexOf('\n', start)
    if (end < 0) return undefined
    start = end + 1
  }
  const end = input.indexOf('\n', start)
  const text = end < 0 ? input.slice(start) : input.slice(start, end)
  return text === '' ? undefined : text
}

/** Failures of the host, not of what was asked. */
function hostError(program: string, complaint: string): IptablesError | undefined {
  if (/holding the xtables lock/.test(complaint))
    return new IptablesError('locked', `${program} gave up: another program holds the xtables lock (${complaint})`)
  if (/can't open lock file/.test(complaint))
    return new IptablesError(
      'not-permitted',
      `${program} cannot take the xtables lock: run as root, and mount the host's /run/xtables.lock; with SELinux, as spc_t (${complaint})`,
    )
  if (/Permission denied|Operation not permitted|you must be root/.test(complaint))
    return new IptablesError(
      'not-permitted',
      `${program} may not do this: run as root, or give the container CAP_NET_ADMIN, and CAP_NET_RAW for iptables-legacy (${complaint})`,
    )
  if (/[Tt]able does not exist|do you need to insmod|Protocol not supported/.test(complaint))
    return new IptablesError(
      'unsupported',
      `the kernel lacks what ${program} needs: load the netfilter modules of this family (${complaint})`,
    )
  return undefined
}

const notFoundTexts = [
  'No chain/target/match by that name',
  'No such file or directory',
  'does a matching rule exist',
  'does not exist',
]

function refusal(program: string, what: string, complaint: string): IptablesError {
  const reason = notFoundTexts.some((text) => complaint.includes(text)) ? 'not-found' : 'refused'
  return new IptablesError(reason, `${program} could not ${what}: ${complaint}`)
}

/** The error text of the tool on one line, without its name and its advice to read the manual. */
function complaintOf(program: string, result: ExecResult): string {
  const words = result.stderr
    .split('\n')
    .filter((line) => !/^(Try `|Error occurred at line:|Perhaps iptables or your kernel)/.test(line))
    .map((line) => line.replace(/^ip6?tables[a-z-]*( v[\d.]+ \([a-z_]+\))?: */, '').trim())
    .filter((line) => line !== '')
  if (words.length > 0) return words.join('; ')
  return result.signal === null ? `exit code ${result.exitCode}` : `${program} was killed by ${result.signal}`
}
