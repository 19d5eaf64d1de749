import { expect, test } from 'vitest'
import { withLockedFolder } from '../../host/testing/locked-folder.ts'
import { startProblem } from './exec-program.ts'

test('a program that is nowhere is missing, also where PATH holds a folder that this user may not look into', async () => {
  const denied = Object.assign(new Error('spawn EACCES'), { code: 'EACCES' })
  await withLockedFolder((folder) => {
    const problem = startProblem('no-such-backend', denied, `${folder}:/usr/bin`)
    expect(problem).toBe(`there is no program "no-such-backend" (this user may not look into ${folder})`)
    return Promise.resolve()
  })
  expect(startProblem('/etc/passwd', denied, '/usr/bin')).toContain('may not be executed')
})
