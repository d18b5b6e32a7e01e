// The buttons of the faults and their words: those of kafkalab/faults, written by payload_types.py.
// biome-ignore-all format: it is written as JSON
export const FAULT_WORDS = [
	{
		"press": "drop",
		"on": "frame",
		"label": "× drop",
		"title": "The frame is lost on its way",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "duplicate",
		"on": "frame",
		"label": "×2 duplicate",
		"title": "The frame arrives twice",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "delay",
		"on": "frame",
		"label": "delay",
		"title": "The frame arrives later, and is overtaken",
		"details": [
			"delay_ms"
		],
		"other": "",
		"number": [
			"delay_ms",
			1000
		],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "hold",
		"on": "frame",
		"label": "hold",
		"title": "The frame stays on its way until it is released",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "release",
		"on": "frame",
		"label": "release",
		"title": "The held frame arrives now",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "reorder",
		"on": "frame",
		"label": "reorder",
		"title": "The frame arrives right after another one",
		"details": [
			"after"
		],
		"other": "after",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "late",
		"on": "frame",
		"label": "late until just before",
		"title": "The frame arrives just before another one",
		"details": [
			"before"
		],
		"other": "before",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "crash_at",
		"on": "frame",
		"label": "crash its receiver",
		"title": "The broker crashes when it receives the request",
		"details": [
			"handled",
			"down_ms"
		],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": true,
		"clientsOnly": false,
		"apis": [],
		"variants": [
			{
				"details": {
					"handled": true
				},
				"label": "crash it when handled",
				"title": "The broker does it, and crashes before its response leaves"
			}
		]
	},
	{
		"press": "respond_with",
		"on": "frame",
		"label": "respond with an error",
		"title": "The response is UNKNOWN_SERVER_ERROR; the broker does nothing about it",
		"details": [
			"error",
			"handled"
		],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": true,
		"clientsOnly": true,
		"apis": [
			"FindCoordinator",
			"InitProducerId",
			"AddPartitionsToTxn",
			"Produce",
			"AddOffsetsToTxn",
			"TxnOffsetCommit",
			"EndTxn",
			"WriteTxnMarkers",
			"Fetch",
			"ListOffsets",
			"DeleteRecords",
			"OffsetCommit",
			"OffsetFetch",
			"JoinGroup",
			"SyncGroup",
			"Heartbeat",
			"LeaveGroup",
			"ConsumerGroupHeartbeat",
			"DescribeGroups",
			"DeleteGroups",
			"OffsetDelete",
			"DescribeCluster",
			"ListGroups",
			"CreateTopics",
			"ListTransactions",
			"DescribeProducers",
			"UpdateMetadata",
			"AlterPartition",
			"BrokerRegistration"
		],
		"variants": [
			{
				"details": {
					"handled": true
				},
				"label": "handle, respond with an error",
				"title": "The response is the error, but the broker does it"
			}
		]
	},
	{
		"press": "crash",
		"on": "node",
		"label": "crash",
		"title": "The process ends; a broker's logs stay. The frame that is being sent never leaves",
		"details": [
			"sent"
		],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": [
			{
				"details": {
					"sent": true
				},
				"label": "crash after sending",
				"title": "The process ends; the frame that it has just sent arrives"
			}
		]
	},
	{
		"press": "restart",
		"on": "node",
		"label": "restart",
		"title": "The broker starts again, with its logs",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": true,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "pause",
		"on": "node",
		"label": "pause",
		"title": "It stops doing anything; what arrives waits",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "resume",
		"on": "node",
		"label": "resume",
		"title": "It goes on, first with all that has waited",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "cut",
		"on": "link",
		"label": "isolate",
		"title": "No frame gets from here to any other node or back",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "heal",
		"on": "link",
		"label": "rejoin",
		"title": "Frames fly to and from here again",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "throttle",
		"on": "link",
		"label": "slow",
		"title": "Its links carry frames one by one, each way",
		"details": [
			"frame_ms"
		],
		"other": "",
		"number": [
			"frame_ms",
			500
		],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "advance",
		"on": "clock",
		"label": "advance",
		"title": "All clocks jump forward",
		"details": [
			"ms"
		],
		"other": "",
		"number": [
			"ms",
			10000
		],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "upgrade",
		"on": "cluster",
		"label": "transaction.version 2",
		"title": "The feature rises; a producer follows with its next transaction",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "elect",
		"on": "leader",
		"label": "elect",
		"title": "The controller makes it the leader",
		"details": [
			"broker",
			"unclean"
		],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "roll",
		"on": "log",
		"label": "roll",
		"title": "A new segment begins",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "compact",
		"on": "log",
		"label": "compact",
		"title": "Each replica begins a new segment and cleans what is before it",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	},
	{
		"press": "delete_segment",
		"on": "log",
		"label": "delete segment",
		"title": "The leader deletes its oldest segment",
		"details": [],
		"other": "",
		"number": [],
		"brokersOnly": false,
		"requestsOnly": false,
		"clientsOnly": false,
		"apis": [],
		"variants": []
	}
];
