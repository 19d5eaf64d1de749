import { expect, test } from 'vitest'
import { noReports } from './connection-report.ts'
import { ReportSampling } from './report-sampling.ts'

test('takes exactly one connection in so many, wherever it begins', () => {
  for (const random of [0, 0.5, 0.999]) {
    const sampling = new ReportSampling({ ...noReports, reportOneIn: 1_000 }, { monotonic: () => 0 }, () => random)
    const taken = Array.from({ length: 10_000 }, () => sampling.takes())
    expect(taken.filter(Boolean)).toHaveLength(10)
  }
})

test('takes so many failures in each second, and none when nothing is wanted', () => {
  let now = 0
  const clock = { monotonic: () => now }
  const sampling = new ReportSampling({ ...noReports, reportOneIn: 1, failureReportsPerSecond: 3 }, clock, () => 0)
  const count = () => Array.from({ length: 50 }, () => sampling.takesFailure()).filter(Boolean).length
  expect([count(), count()]).toEqual([3, 0])
  now = 1_000
  expect(count()).toBe(3)
  const none = new ReportSampling(noReports, clock, () => 0)
  expect([none.takes(), none.takesFailure()]).toEqual([false, false])
})
