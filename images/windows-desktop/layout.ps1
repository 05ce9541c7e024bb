# Where a sandbox has its things, and whose they are. Dot-sourced by the other scripts.
# Unverified: no Windows machine has run it.
$target = 'C:\examhall'
$state = 'C:\ProgramData\ExamHall'
$agent = 'User'
