import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { zeroQuantity } from '../quantity.ts'

const second = 1_000
const loggingAlpha = 'Needs the feature gate LoggingAlphaOptions.'

/** These flags win over the configuration file. */
export const loggingFlags = {
  ...inGroup('Logging', {
    'logging-format': {
      type: type.text,
      default: 'text',
      configField: 'logging.format',
      withConfigFile: 'kept',
      help: 'Format of the log: text or json.',
    },
    'log-flush-frequency': {
      type: type.duration,
      default: 5 * second,
      configField: 'logging.flushFrequency',
      withConfigFile: 'kept',
      help: 'The longest time a log line may wait in a buffer.',
    },
    v: {
      type: type.level,
      short: 'v',
      default: 0,
      configField: 'logging.verbosity',
      withConfigFile: 'kept',
      help: 'How much is logged: 2 shows each sync, 4 each connection.',
    },
    vmodule: {
      type: type.vmodule,
      default: [],
      configField: 'logging.vmodule',
      withConfigFile: 'merged',
      help: 'Verbosity of single source files. Text format only.',
    },
    'log-text-split-stream': {
      type: type.bool,
      default: false,
      configField: 'logging.options.text.splitStream',
      withConfigFile: 'kept',
      help: `In text format, write errors to stderr and the rest to stdout. ${loggingAlpha}`,
    },
    'log-text-info-buffer-size': {
      type: type.quantity,
      default: zeroQuantity,
      configField: 'logging.options.text.infoBufferSize',
      withConfigFile: 'kept',
      help: `Bytes of stdout to buffer in text format: 512, 1k, 2Ki. ${loggingAlpha}`,
    },
    'log-json-split-stream': {
      type: type.bool,
      default: false,
      configField: 'logging.options.json.splitStream',
      withConfigFile: 'kept',
      help: `In JSON format, write errors to stderr and the rest to stdout. ${loggingAlpha}`,
    },
    'log-json-info-buffer-size': {
      type: type.quantity,
      default: zeroQuantity,
      configField: 'logging.options.json.infoBufferSize',
      withConfigFile: 'kept',
      help: `Bytes of stdout to buffer in JSON format: 512, 1k, 2Ki. ${loggingAlpha}`,
    },
  }),
} as const
