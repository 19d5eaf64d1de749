/** Makes a sentence of what the kernel's verifier writes about a program. Pure. */
import { BpfError, errnoName } from './bpf-error.ts'
import type { ProgramImage, SourceLine } from './program-image.ts'

const shownLines = 20

export function rejection(image: ProgramImage, log: string, errno: number): BpfError {
  const lines = log.split('\n').filter((line) => line.trim() !== '')
  const complaint = complaintIn(lines) ?? 'it does not say why'
  const tried = `cannot load the program "${image.name}"`
  if (/prohibited for !root|corrupt spilled pointer/.test(log))
    return new BpfError(
      'not-permitted',
      `${tried}: give the container CAP_PERFMON (${errnoName(errno)}: ${complaint})`,
      {
        errno,
      },
    )
  const end = lines.slice(-shownLines).join('\n')
  const where = placeOf(image, lines)
  return new BpfError('rejected', `${tried}: the kernel refuses ${where}: ${complaint} (${errnoName(errno)})\n${end}`, {
    errno,
  })
}

/** `12: (79) r1 = *(u64 *)(r0 +0)`, the last instruction that it looked at. */
const instructionLine = /^(\d+): \(/

function placeOf({ sourceLines }: ProgramImage, lines: readonly string[]): string {
  const last = lines.findLast((line) => instructionLine.test(line))
  const instruction = Number(instructionLine.exec(last ?? '')?.[1] ?? 0)
  if (last === undefined) return 'it'
  const source = sourceOf(sourceLines, instruction)
  return source === undefined
    ? `instruction ${instruction}`
    : `${source.file}:${source.line}, instruction ${instruction}`
}

function sourceOf(sourceLines: readonly SourceLine[], instruction: number): SourceLine | undefined {
  return sourceLines.findLast((source) => source.instruction <= instruction)
}

/** The last line that is neither an instruction, nor a state, nor a count of the work. */
function complaintIn(lines: readonly string[]): string | undefined {
  return lines
    .findLast((line) => !/^(\d+: |processed |verification time|stack depth|; |max_states|from \d+ to)/.test(line))
    ?.trim()
}
