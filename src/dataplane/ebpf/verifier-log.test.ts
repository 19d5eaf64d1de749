import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { passingProgram } from './testing/images.ts'
import { rejection } from './verifier-log.ts'

const image = {
  ...passingProgram('fl_connect4', 'connect4'),
  sourceLines: [
    { instruction: 0, file: 'native/ebpf/fairlead.bpf.c', line: 30 },
    { instruction: 10, file: 'native/ebpf/choose.h', line: 77 },
    { instruction: 13, file: 'native/ebpf/choose.h', line: 80 },
  ],
}

const log = `func#0 @0
0: R1=ctx() R10=fp0
0: (bf) r6 = r1                       ; R1=ctx() R6_w=ctx()
9: (85) call bpf_map_lookup_elem#1    ; R0_w=map_value_or_null(id=1,map=fl_config,ks=4,vs=64)
12: (79) r1 = *(u64 *)(r0 +0)
R0 invalid mem access 'map_value_or_null'
processed 13 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
`

test('the program, the line of its source and the complaint are in the first line', () => {
  const error = rejection(image, log, constants.errno.EACCES)
  expect(error).toMatchObject({ reason: 'rejected', errno: constants.errno.EACCES })
  expect(error.message.split('\n')[0]).toBe(
    `cannot load the program "fl_connect4": the kernel refuses native/ebpf/choose.h:77, instruction 12: R0 invalid mem access 'map_value_or_null' (EACCES)`,
  )
})

test('the end of the log follows', () => {
  const long = Array.from({ length: 100 }, (_, index) => `${index}: (bf) r6 = r1`).join('\n')
  const lines = rejection(image, `${long}\nR1 !read_ok\n`, 13).message.split('\n')
  expect(lines).toHaveLength(21)
  expect(lines.at(-1)).toBe('R1 !read_ok')
  expect(lines[1]).toBe('81: (bf) r6 = r1')
})

test.each(['R2 pointer arithmetic prohibited for !root', 'attempt to corrupt spilled pointer on stack'])(
  'a right that is missing is named: %s',
  (complaint) => {
    const error = rejection(image, `5: (0f) r2 += r3\n${complaint}\nprocessed 6 insns\n`, constants.errno.EACCES)
    expect(error.reason).toBe('not-permitted')
    expect(error.message).toBe(
      `cannot load the program "fl_connect4": give the container CAP_PERFMON (EACCES: ${complaint})`,
    )
  },
)

test('a kernel that writes nothing is quoted, too', () => {
  expect(rejection({ ...image, sourceLines: [] }, '', constants.errno.EINVAL).message).toMatch(
    /^cannot load the program "fl_connect4": the kernel refuses it: it does not say why \(EINVAL\)/,
  )
})
