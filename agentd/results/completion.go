package results

import "vigil/rpc/client"

// Env names the folder in which an agent leaves what it could not deliver.
const Env = client.EnvSpool

// Completion is a file of that folder. Any agent may have written it.
type Completion = client.Spooled
