import { type FeatureGates, isGateOn } from '../feature-gates.ts'
import { nsFromMs, renderGoDuration } from '../../net/go-duration.ts'
import type { LoggingConfig } from '../proxy-config.ts'
import { forbidden, invalid, required } from './field-problem.ts'

const largestVerbosity = 2 ** 31 - 1

export function loggingProblems(logging: LoggingConfig, gates: FeatureGates): string[] {
  return [
    ...flushFrequencyProblems(logging),
    ...formatProblems(logging, gates),
    ...verbosityProblems(logging),
    ...streamProblems('text', logging, gates),
    ...streamProblems('json', logging, gates),
  ]
}

function flushFrequencyProblems({ flushFrequencyMs, isFlushFrequencyNumeric }: LoggingConfig): string[] {
  if (flushFrequencyMs > 0) return []
  const value = isFlushFrequencyNumeric ? Number(nsFromMs(flushFrequencyMs)) : renderGoDuration(flushFrequencyMs)
  return [invalid('logging.flushFrequency', value, 'must be greater than zero')]
}

function formatProblems({ format }: LoggingConfig, gates: FeatureGates): string[] {
  if (format === 'text') return []
  if (format !== 'json') return [invalid('logging.format', format, 'unsupported log format: use text or json')]
  if (isGateOn(gates, 'LoggingBetaOptions')) return []
  return [forbidden('logging.format', 'log format json is disabled: turn on the feature gate LoggingBetaOptions')]
}

function verbosityProblems({ format, verbosity, vmodule }: LoggingConfig): string[] {
  const problems: string[] = []
  const tooLarge = `must be at most ${largestVerbosity}`
  if (verbosity > largestVerbosity) problems.push(invalid('logging.verbosity', verbosity, tooLarge))
  if (vmodule.length > 0 && format !== 'text')
    problems.push(forbidden('logging.vmodule', 'works with the text format only'))
  for (const [index, item] of vmodule.entries()) {
    const path = `logging.vmodule[${index}]`
    if (item.filePattern === '') problems.push(required(path, 'the file pattern must not be empty'))
    if (/[=,]/.test(item.filePattern))
      problems.push(invalid(path, item.filePattern, 'the file pattern must not contain an equal sign or a comma'))
    if (item.verbosity > largestVerbosity) problems.push(invalid(path, item.verbosity, tooLarge))
  }
  return problems
}

function streamProblems(format: 'text' | 'json', logging: LoggingConfig, gates: FeatureGates): string[] {
  if (isGateOn(gates, 'LoggingAlphaOptions')) return []
  const { splitStream, infoBufferSize } = logging[format]
  const reason = 'turn on the feature gate LoggingAlphaOptions to use it'
  return [
    ...(splitStream ? [forbidden(`logging.options.${format}.splitStream`, reason)] : []),
    ...(infoBufferSize.bytes !== 0 ? [forbidden(`logging.options.${format}.infoBufferSize`, reason)] : []),
  ]
}
